"""Seeds that are a student's own and the same at every regrade, and the course secret that they come from."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from lmcourse.errors import CourseError

SECRET_FILE = "course_secret"


def exercise_seed(secret: str, student: str, exercise_id: str) -> int:
    """A seed in 0..2^63-1 that nobody can guess without the secret."""
    return _number("exercise", secret, student, exercise_id)


def property_seed(seed: int, name: str) -> int:
    """The seed of one named property of an exercise, so that a new property leaves the others' data alone."""
    return _number("property", str(seed), name)


def course_secret(course: Path) -> str:
    """The secret in the course folder, made on first use; a folder that is copied keeps its seeds.

    Raises:
        CourseError: the file cannot be read or made, or is empty.
    """
    path = course / SECRET_FILE
    try:
        if not path.exists():
            course.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{SECRET_FILE}.{os.getpid()}")
            draft.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
            draft.chmod(0o600)
            try:
                os.link(draft, path)  # fails where another process was first: then its secret holds
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"cannot read the course secret {path}: {error}") from None
    if not secret:
        raise CourseError(
            f"the course secret {path} is empty; restore it from a copy, or delete it for a new one"
        )
    return secret


def _number(*parts: str) -> int:
    text = "\0".join(f"{len(p)}:{p}" for p in parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1
