"""System calls that Python has no function for, and their numbers on the architectures we know."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

# Number on x86_64, on aarch64; None where the architecture never had the call.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "accept": (43, 202), "accept4": (288, 242), "acct": (163, 89), "add_key": (248, 217),
    "adjtimex": (159, 171), "bind": (49, 200), "bpf": (321, 280), "capset": (126, 91), "chmod": (90, None),
    "chown": (92, None), "chroot": (161, 51), "clock_adjtime": (305, 266), "clock_settime": (227, 112),
    "clone": (56, 220), "clone3": (435, 435), "connect": (42, 203), "create_module": (174, None),
    "delete_module": (176, 106), "execve": (59, 221), "execveat": (322, 281), "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "fchown": (93, 55), "fchownat": (260, 54), "finit_module": (313, 273), "fork": (57, None),
    "fremovexattr": (199, 16), "fsconfig": (431, 431), "fsetxattr": (190, 7), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "futimesat": (261, None), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "ioperm": (173, None), "iopl": (172, None), "ioprio_set": (251, 30), "kcmp": (312, 272),
    "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219), "kill": (62, 129),
    "landlock_add_rule": (445, 445), "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446), "lchown": (94, None), "listen": (50, 201),
    "lookup_dcookie": (212, 18), "lremovexattr": (198, 15), "lsetxattr": (189, 6),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "migrate_pages": (256, 238),
    "mknod": (133, None), "mknodat": (259, 33), "modify_ldt": (154, None), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239), "mq_open": (240, 180),
    "msgget": (68, 186), "name_to_handle_at": (303, 264), "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "personality": (135, 92), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pivot_root": (155, 41), "prctl": (157, 167), "prlimit64": (302, 261),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "reboot": (169, 142), "remap_file_pages": (216, 234), "removexattr": (197, 14),
    "request_key": (249, 218), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "seccomp": (317, 277), "semget": (64, 190),
    "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268), "setpriority": (141, 140),
    "settimeofday": (164, 170), "setxattr": (188, 5), "shmat": (30, 196), "shmget": (29, 194),
    "socket": (41, 198), "swapoff": (168, 225), "swapon": (167, 224), "sysfs": (139, None),
    "syslog": (103, 116), "tgkill": (234, 131), "tkill": (200, 130), "umount2": (166, 39),
    "unshare": (272, 97), "uselib": (134, None), "userfaultfd": (323, 282), "utime": (132, None),
    "utimensat": (280, 88), "utimes": (235, None), "vfork": (58, None), "vhangup": (153, 58),
}  # fmt: skip
HIGHEST_KNOWN = 463  # what came into the kernel later is refused unseen

_COLUMNS = {"x86_64": 0, "aarch64": 1}


def machine() -> str | None:
    """The architecture if we know its system calls, else None: then nothing here can be used."""
    name = platform.machine()
    return name if sys.platform == "linux" and name in _COLUMNS and sys.maxsize > 2**32 else None


def number(name: str) -> int | None:
    """The number of a system call on this machine, or None where it has none."""
    column = _COLUMNS.get(machine() or "")
    return None if column is None else NUMBERS[name][column]


def call(name: str, *arguments: object) -> int:
    """Make a system call.

    Raises:
        OSError: the kernel refused, or this machine has no such call.
    """
    index = number(name)
    if index is None:
        raise OSError(38, f"no system call {name} on this machine")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(index), *plain)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def no_new_privileges() -> None:
    """From now on no exec can add privileges; Landlock and seccomp ask for this. Irrevocable.

    Raises:
        OSError: the kernel refused.
    """
    call("prctl", 38, 1, 0, 0, 0)
