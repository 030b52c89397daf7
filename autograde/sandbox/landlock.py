"""Landlock: which files a process may read and write, no TCP, and signals that stay inside.

The kernel counts the interface in versions (1: Linux 5.13, 3: truncation, 4: TCP, 5: device ioctls, 6:
signals and abstract sockets). Everything that the running kernel knows is used; what it does not know is
simply not restricted by this module.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from . import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << n for n in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << n for n in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = (1 << n for n in range(13, 16))

READ = READ_FILE | READ_DIR
# Plain files and folders: no links, sockets, pipes or devices for others to stumble over.
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # rights that a file can have
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_fs", ctypes.c_uint64),
        ("handled_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The kernel's version of the interface; 0 where there is none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def handled_files(abi: int) -> int:
    """The file rights that a kernel of this version can withhold."""
    rights = (1 << 13) - 1
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        if abi >= since:
            rights |= right
    return rights


def restrict(
    read: Iterable[str | os.PathLike], write: Iterable[str | os.PathLike], devices: Iterable[str] = ()
) -> int:
    """Withhold from this process, for ever, every file but these; returns the version in force.

    Args:
        read: files and folders that may be read, with all below them. What does not exist is left out.
        write: folders in which plain files and folders may be made, changed and removed.
        devices: character devices that may be read and written.

    Raises:
        OSError: the kernel has no Landlock, or refused.
    """
    abi = version()
    if not abi:
        raise OSError(38, "this kernel has no Landlock")
    attributes = _Ruleset(handled_files(abi))
    size = 8
    if abi >= 4:
        attributes.handled_net, size = BIND_TCP | CONNECT_TCP, 16
    if abi >= 6:
        attributes.scoped, size = ABSTRACT_SOCKETS | SIGNALS, 24
    ruleset = kernel.call("landlock_create_ruleset", ctypes.byref(attributes), size, 0)
    try:
        for paths, rights in ((read, READ), (write, WRITE), (devices, READ_FILE | WRITE_FILE)):
            for path in paths:
                with suppress(FileNotFoundError, PermissionError):
                    _allow(ruleset, path, rights & attributes.handled_fs)
        kernel.no_new_privileges()
        kernel.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def _allow(ruleset: int, path: str | os.PathLike, rights: int) -> None:
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= ON_FILES
        rule = _PathBeneath(rights, parent)
        kernel.call("landlock_add_rule", ruleset, 1, ctypes.byref(rule), 0)
    finally:
        os.close(parent)
