"""Who a confined process is: a user id that owns nothing, and no capabilities."""

from __future__ import annotations

import ctypes
import os
import pwd
from collections.abc import Iterable
from pathlib import Path

from . import kernel

FIRST, COUNT = 55_000, 5_000  # below what systems hand out by themselves, above what people usually get


def spare(number: int, must_read: Iterable[str | os.PathLike]) -> int | None:
    """A user id that nobody has and that can reach these files, or None where there is none to take.

    Different small numbers give different ids. Only root can take another id, and in a container the id must
    be one that the container has.
    """
    if os.geteuid() != 0 or not _reachable(must_read):
        return None
    mapped = _mapped()
    for offset in range(COUNT):
        uid = FIRST + (number + offset) % COUNT
        if any(first <= uid < first + count for first, count in mapped) and not _taken(uid):
            return uid
    return None


def become(uid: int) -> None:
    """Take this user id, a group id of the same number, and no other group.

    Raises:
        OSError: this process may not.
    """
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Give up every capability, also the ones that only count inside a user namespace.

    Raises:
        OSError: the kernel refused.
    """
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    kernel.call("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _reachable(paths: Iterable[str | os.PathLike]) -> bool:
    """May everybody pass through the folders above these?"""
    parents = {parent for path in paths for parent in Path(path).parents}
    return all(parent.stat().st_mode & 0o001 for parent in parents)


def _mapped() -> list[tuple[int, int]]:
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return []
    return [(int(first), int(count)) for first, _, count in (line.split() for line in lines)]


def _taken(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
