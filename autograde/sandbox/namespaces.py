"""A world of its own: a root folder that holds the libraries and no more, no network, no other processes.

`enter` is called once, by the server that student processes are forked from, while it has one thread and has
not loaded anything. Root needs no user namespace for it; other users need one, which some systems refuse
(containers without the right, Ubuntu 24.04 without an AppArmor profile). Then everything else carries on.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from . import kernel

NEW_MOUNT, NEW_HOSTNAME, NEW_IPC = 0x20000, 0x4000000, 0x8000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
NOSUID, NODEV, NOEXEC, REMOUNT, BIND, RECURSIVE, PRIVATE = 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2
READ_ONLY, ALL_BELOW, HERE = 1, 0x8000, -100
ROOT_OPTIONS = "mode=755,size=4m,nr_inodes=4096"


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns", ctypes.c_uint64),
    )


def enter(root: Path, read: Iterable[Path], devices: Iterable[str], scratch: Path) -> None:
    """Move this process, and all that it starts later, into new namespaces with a small root.

    The process itself waits for its child, which returns from here as the first process of its process
    namespace and is the one to go on.

    Args:
        root: an empty folder, to become the root.
        read: what is to be seen, read-only, at the same paths; a symbolic link brings its target along.
        devices: character devices to be seen.
        scratch: a folder to make, writable to whoever owns it.

    Raises:
        OSError: the system refused; the process must end, since it may be half-way there.
    """
    user, group = os.geteuid(), os.getegid()
    flags = NEW_MOUNT | NEW_HOSTNAME | NEW_IPC | NEW_NET | NEW_PID
    kernel.call("unshare", flags if user == 0 else flags | NEW_USER)
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount(None, "/", None, RECURSIVE | PRIVATE)
    _become_first()
    _mount("tmpfs", root, "tmpfs", NOSUID | NODEV, ROOT_OPTIONS)
    _show(root, read)
    for device in devices:
        _bind(Path(device), root)
    proc = root / "proc"
    proc.mkdir(exist_ok=True)
    try:
        _mount("proc", proc, "proc", NOSUID | NODEV | NOEXEC)
    except PermissionError:  # parts of the outer one are masked, so a fresh one may not be had
        _mount("/proc", proc, None, BIND | RECURSIVE)
    inside(root, scratch).mkdir(parents=True, exist_ok=True)
    (root / "tmp").mkdir(exist_ok=True)
    os.chdir(root)
    kernel.call("pivot_root", b".", b".")
    kernel.call("umount2", b".", DETACH)
    os.chdir("/")


def inside(root: Path, path: Path) -> Path:
    """Where `path` lies below a new root."""
    return root / path.relative_to("/")


class ProcessWorlds:
    """A process namespace for each child: when it ends, all that it left running ends with it.

    Raises:
        OSError: this process may not make any.
    """

    def __init__(self) -> None:
        self.own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def fork(self) -> int:
        """`os.fork`, with the child as the first process of a namespace.

        Raises:
            OSError: no process can be made.
        """
        kernel.call("unshare", NEW_PID)
        pid = os.fork()
        if pid:
            kernel.call("setns", self.own, NEW_PID)
        return pid


def mount_private(folder: Path, n_bytes: int, n_files: int, owner: int) -> None:
    """Put a file system in memory there, of this size, for this owner alone.

    Raises:
        OSError: the system refused.
    """
    options = f"mode=700,size={n_bytes},nr_inodes={n_files},uid={owner},gid={owner}"
    _mount("tmpfs", folder, "tmpfs", NOSUID | NODEV | NOEXEC, options)


def unmount(folder: Path) -> None:
    """Take the file system in memory away, with whatever is in it."""
    kernel.call("umount2", os.fsencode(folder), DETACH)


def _become_first() -> None:
    """The process that asked for a process namespace is not in it; its next child is."""
    ready, go = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ready)
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    os.close(go)
    _die_with(ready)


def _die_with(pipe: int) -> None:
    from . import resources

    resources.die_with_parent()
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        if os.read(pipe, 1) == b"":  # the parent had ended before it could be asked for
            os._exit(1)
    os.close(pipe)


def _show(root: Path, paths: Iterable[Path]) -> None:
    bound: list[Path] = []
    for path in sorted(paths):
        if path.is_symlink():
            link = inside(root, path)
            link.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                link.symlink_to(path.resolve())
            path = path.resolve()
        if path.exists() and not any(path.is_relative_to(b) for b in bound):
            target = _bind(path, root)
            attributes = _Attributes(set=READ_ONLY | 2)  # and no set-user-id programs
            kernel.call("mount_setattr", HERE, os.fsencode(target), ALL_BELOW, ctypes.byref(attributes), 32)
            bound.append(path)


def _bind(path: Path, root: Path) -> Path:
    target = inside(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    _mount(path, target, None, BIND | RECURSIVE)
    return target


def _mount(source: object, target: object, kind: str | None, flags: int, options: str | None = None) -> None:
    encoded = [None if part is None else os.fsencode(str(part)) for part in (source, target, kind)]
    data = None if options is None else options.encode()
    kernel.call("mount", *encoded, flags, data)
