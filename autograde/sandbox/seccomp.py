"""A system-call filter: no other program, no other process, no network, no keys, no kernel doors.

Threads, `socketpair`, files, memory and timers stay, so numeric code, asyncio, `savefig` and `torch.save`
work. What is refused fails with EPERM, which honest code can catch; a call of a foreign architecture, which
no honest code makes, ends the process. Kernel calls that came after this list are refused as unknown.

The filter is classic BPF, built here: a program of a few kinds of instruction on the call's number and
arguments, for which a library would need libseccomp on every machine that grades.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from . import kernel

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, UNKNOWN, PRETEND = (0x00050000 | code for code in (errno.EPERM, errno.ENOSYS, 0))
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, 16  # offsets in the data that the kernel shows to the filter
X32 = 0x40000000
CLONE_THREAD = 0x10000
SET_FILTER = 1
SET_PARENT_DEATH_SIGNAL = 1
# Signals that stop a process count too: a student's code may signal itself, by a number that is its own.
OWN_PROCESS_ONLY = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
SELF_OR_ZERO = ("prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr")
PROCESSES = ("execve", "execveat", "fork", "vfork")

REFUSED = (
    "accept", "accept4", "acct", "add_key", "adjtimex", "bind", "bpf", "capset", "chroot", "clock_adjtime",
    "clock_settime", "connect", "create_module", "delete_module", "fanotify_init", "fanotify_mark",
    "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "ioperm", "iopl", "ioprio_set", "kcmp", "kexec_file_load",
    "kexec_load", "keyctl", "listen", "lookup_dcookie", "memfd_create", "memfd_secret", "migrate_pages",
    "mknod", "mknodat", "modify_ldt", "mount", "mount_setattr", "move_mount", "move_pages", "mq_open",
    "msgget", "name_to_handle_at", "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open",
    "personality", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pivot_root", "process_madvise",
    "process_mrelease", "process_vm_readv", "process_vm_writev", "ptrace", "quotactl", "quotactl_fd",
    "reboot", "request_key", "semget", "setdomainname", "sethostname", "setns", "setpriority",
    "settimeofday", "shmat", "shmget", "socket", "swapoff", "swapon", "syslog", "sysfs", "tkill", "umount2",
    "unshare", "uselib", "userfaultfd", "vhangup",
)  # fmt: skip

# Modes, owners and times of files: Landlock lets them be changed even where it lets nothing be read. Library
# functions set them as they copy and unpack, so these calls seem to work, and do nothing.
PRETENDED = (
    "chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "fremovexattr", "fsetxattr",
    "futimesat", "lchown", "lremovexattr", "lsetxattr", "removexattr", "setxattr", "utime", "utimensat",
    "utimes",
)  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def available() -> bool:
    """Does the kernel take filters from this process?"""
    if kernel.machine() is None:
        return False
    try:
        return kernel.call("seccomp", 2, 0, ctypes.byref(ctypes.c_uint32(KILL))) == 0
    except OSError:
        return False


def restrict() -> None:
    """Put the filter in force for this process and all its future threads, for ever.

    Raises:
        OSError: an unknown architecture, or the kernel refused.
    """
    code = program(os.getpid())
    kernel.no_new_privileges()
    kernel.call("seccomp", SET_FILTER, 0, ctypes.byref(_Program(len(code) // 8, code)))


def program(pid: int) -> bytes:
    """The filter's instructions, for a process that may signal `pid`, itself, and nobody else.

    Raises:
        OSError: an unknown architecture.
    """
    machine = kernel.machine()
    if machine is None:
        raise OSError(38, "no list of system calls for this machine")
    code = [
        _step(LOAD, ARCHITECTURE),
        _step(EQUAL, ARCHITECTURES[machine], yes=1),
        _step(RETURN, KILL),
        _step(LOAD, NUMBER),
    ]
    if machine == "x86_64":
        code += [_step(AT_LEAST, X32, no=1), _step(RETURN, KILL)]
    code += [_step(AT_LEAST, kernel.HIGHEST_KNOWN, no=1), _step(RETURN, UNKNOWN)]
    # Its flags lie in memory that a filter cannot see; told that it is unknown, the C library takes clone.
    code += _on("clone3", [_step(RETURN, UNKNOWN)])
    flags = [_step(LOAD, ARGUMENT), _step(ANY_BIT, CLONE_THREAD, yes=1), _step(RETURN, REFUSE)]
    code += _on("clone", [*flags, _step(RETURN, ALLOW)])
    for name in OWN_PROCESS_ONLY:
        code += _on(name, _argument_in(0, (pid,)))
    for name in SELF_OR_ZERO:
        code += _on(name, _argument_in(0, (0, pid)))
    death = [_step(LOAD, ARGUMENT), _step(EQUAL, SET_PARENT_DEATH_SIGNAL, no=1), _step(RETURN, REFUSE)]
    code += _on("prctl", [*death, _step(RETURN, ALLOW)])
    for name in (*REFUSED, *PROCESSES):
        code += _on(name, [_step(RETURN, REFUSE)])
    for name in PRETENDED:
        code += _on(name, [_step(RETURN, PRETEND)])
    return b"".join([*code, _step(RETURN, ALLOW)])


def _on(name: str, steps: list[bytes]) -> list[bytes]:
    """These steps, all of which end in a return, for one system call; else on to what follows."""
    index = kernel.number(name)
    return [] if index is None else [_step(EQUAL, index, no=len(steps)), *steps]


def _argument_in(position: int, values: tuple[int, ...]) -> list[bytes]:
    """Allow where the low half of an argument is one of these: all of them are 32-bit process numbers."""
    steps = [_step(LOAD, ARGUMENT + 8 * position)]
    steps += [_step(EQUAL, value, yes=len(values) - i) for i, value in enumerate(values)]
    return [*steps, _step(RETURN, REFUSE), _step(RETURN, ALLOW)]


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
