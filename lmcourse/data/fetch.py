"""Downloads that survive a bad line: resumed, tried again, compared with a checksum."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from lmcourse.data.progress import ByteProgress
from lmcourse.data.sources import Source
from lmcourse.errors import CourseError

ATTEMPTS = 5
WAIT = 1.0  # seconds before the second attempt; doubled each time
TIMEOUT = 30.0  # seconds without a byte
BLOCK = 1 << 18
RECORD = "checksums.json"
_PASSING = (408, 425, 429)  # refusals that may end; those from 500 on too


class _TryAgain(Exception):
    """Something that may pass."""


def get(source: Source, folder: Path, stream: TextIO, say: Callable[[str], None], mirror: str = "") -> Path:
    """A file of the table, fetched unless it is there, and compared with its checksum.

    Args:
        source: the file.
        folder: to put it in.
        stream: for the progress.
        say: takes lines for the person.
        mirror: address that holds a file of the same name, in place of the source's own.

    Raises:
        CourseError: no connection, no such file, another checksum, or a disk that refuses.
    """
    url = f"{mirror.rstrip('/')}/{source.file}" if mirror else source.url
    path = folder / source.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        record = _recorded(folder)
        expected = source.sha256 or record.get(source.file)
        there = path.exists()
        if not there:
            fetch(url, path, expected, stream, say)
        digest = _digest(path)
        if expected and digest != expected:
            raise CourseError(
                f"{path}: SHA-256 {digest}, expected {expected}; it was changed or cut short, so "
                "remove it and give the same command again"
            )
        if not expected:
            _write(folder / RECORD, {**record, source.file: digest})
            say(
                f"{path}: SHA-256 {digest}, written down now. The course knows none of the publisher's to "
                f"compare it with; a later download is compared with this one ({folder / RECORD})"
            )
        elif there:
            say(f"{path}: is there already, and right")
    except OSError as problem:
        raise CourseError(f"{path}: cannot be written ({problem.strerror or problem})") from None
    return path


def fetch(url: str, path: Path, sha256: str | None, stream: TextIO, say: Callable[[str], None]) -> None:
    """Download a file; it has its name only when it is complete and right.

    What a broken download left is in PATH.part, and is gone on from if the server can and has the same file.

    Args:
        url: http or https.
        path: to be written.
        sha256: expected, in hex; None does not compare.
        stream: for the progress.
        say: takes a line for each attempt that failed.

    Raises:
        CourseError: no connection, a refusal, a download that keeps breaking off, or another checksum.
        OSError: of the disk.
    """
    partial = path.with_name(f"{path.name}.part")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _transfer(url, partial, stream)
            break
        except _TryAgain as problem:
            if attempt == ATTEMPTS:
                raise CourseError(
                    f"{url}: {problem}, {ATTEMPTS} times; what has arrived is kept, so give the same command "
                    f"again later, or put the file at {path} by hand"
                ) from None
            say(f"{url}: {problem}; trying again")
            time.sleep(WAIT * 2 ** (attempt - 1))
    digest = _digest(partial)
    if sha256 and digest != sha256:
        _forget(partial)
        raise CourseError(
            f"{url}: what arrived has SHA-256 {digest}, expected {sha256}; it was removed. Give the same "
            "command again; if that does not help, the file there is another one now"
        )
    os.replace(partial, path)
    _forget(partial)


def _transfer(url: str, partial: Path, stream: TextIO) -> None:
    """One attempt: ask for what is missing and append it.

    Raises:
        _TryAgain, CourseError: what may pass, what will not. OSError: of the disk.
    """
    have, validator = partial.stat().st_size if partial.exists() else 0, _validator(partial, url)
    if have and not validator:
        have = 0  # nobody can say whether the server still has the same file
    headers = {"Accept-Encoding": "identity", "User-Agent": "lmcourse"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as problem:
        with problem:
            if problem.code == 416:  # the part is as long as the file, or longer
                if problem.headers.get("Content-Range", "").endswith(f"/{have}"):
                    return
                _forget(partial)
                raise _TryAgain("the server has another file now") from None
            answer = f"{problem.code} {problem.reason}"
        if problem.code >= 500 or problem.code in _PASSING:
            raise _TryAgain(f"the server answers {answer}") from None
        raise CourseError(f"{url}: the server answers {answer}; the file may have moved") from None
    except urllib.error.URLError as problem:
        if isinstance(problem.reason, socket.gaierror):
            host = urlsplit(url).hostname
            raise CourseError(
                f"{url}: {host} cannot be found; without a connection, fetch the file elsewhere and put it "
                f"at {partial.with_suffix('')}"
            ) from None
        raise _TryAgain(f"no connection ({problem.reason})") from None
    except (OSError, HTTPException) as problem:
        raise _TryAgain(f"no connection ({problem or type(problem).__name__})") from None
    except ValueError as problem:
        raise CourseError(f"{url}: no address of a file ({problem})") from None
    with response:
        _receive(url, response, partial, have, stream)


def _receive(url: str, response: HTTPResponse, partial: Path, have: int, stream: TextIO) -> None:
    if response.status == 206 and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        _forget(partial)
        raise _TryAgain("the server sent another part than was asked for")
    have = have if response.status == 206 else 0
    length = response.headers.get("Content-Length", "")
    total = have + int(length) if length.isdigit() else None
    with open(partial, "ab" if have else "wb") as file:
        tag = response.headers.get("ETag", "")
        tag = "" if tag.startswith("W/") else tag
        _write(_side(partial), {"url": url, "validator": tag or response.headers.get("Last-Modified", "")})
        with ByteProgress(partial.stem, total, stream) as progress:
            while True:
                try:
                    block = response.read(BLOCK)
                except (OSError, HTTPException) as problem:
                    raise _TryAgain(f"broke off after {have:,} bytes ({type(problem).__name__})") from None
                if not block:
                    break
                file.write(block)
                have += len(block)
                progress.reach(have)
        file.flush()
        os.fsync(file.fileno())
    if total is not None and have < total:
        raise _TryAgain(f"broke off after {have:,} of {total:,} bytes")


def _validator(partial: Path, url: str) -> str:
    """What tells the server which file the part is of; "" where it is not known."""
    try:
        saved = json.loads(_side(partial).read_text(encoding="utf-8"))
        return saved["validator"] if saved["url"] == url else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _side(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _forget(partial: Path) -> None:
    for path in (partial, _side(partial)):
        path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _recorded(folder: Path) -> dict[str, str]:
    path = folder / RECORD
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        raise CourseError(f"{path}: damaged; remove it, then what arrives next is written down") from None


def _write(path: Path, values: dict[str, str]) -> None:
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
