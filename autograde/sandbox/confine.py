"""Everything that a process gives up before it runs student code, in the one order that works."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import identity, landlock, resources, seccomp

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
# What numeric libraries ask of the system: the loader, time zones, fonts, the processor.
SYSTEM_FILES = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/fonts", "/usr/share/zoneinfo", "/usr/share/fonts", "/usr/share/locale", "/usr/lib/locale",
    "/sys/devices/system/cpu", "/sys/devices/system/node",
)  # fmt: skip
PROCESS_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/version")
# Means that stand between student code and the files of others, and between it and the rest of the kernel.
FILE_WALLS = ("landlock", "mount")


@dataclass(frozen=True)
class Policy:
    """What one student process may use: places to read and to write, bytes of memory beyond the libraries."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    memory_bytes: int
    user: int | None = None  # an id to become; None stays who it is


def readable(libraries: Sequence[str]) -> tuple[str, ...]:
    """The interpreter's own library, the given folders of packages, and what those ask of the system."""
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    shared = sysconfig.get_config_var("LIBDIR")  # of the interpreter itself, where it is a shared library
    return tuple(dict.fromkeys([*standard, *([shared] if shared else []), *libraries, *SYSTEM_FILES]))


def confine(policy: Policy) -> list[str]:
    """Confine this process for good and name the means, as `landlock 7`. What is missing is left out."""
    means: list[str] = []
    if resources.apply(policy.memory_bytes, own_user=policy.user is not None):
        means.append("limits")
    if sys.platform != "linux":
        return means
    own = f"/proc/{os.readlink('/proc/self')}"
    with suppress(OSError):
        read = (*policy.read, *PROCESS_FILES, own)
        means.append(f"landlock {landlock.restrict(read, policy.write, DEVICES)}")
    if policy.user is not None:
        identity.become(policy.user)
        means.append("spare user")
    with suppress(OSError):
        identity.drop_capabilities()
    with suppress(OSError):
        seccomp.restrict()
        means.append("seccomp")
    return means


def is_confined(means: Sequence[str]) -> bool:
    """Is there a wall before the files of others, and one before the kernel?"""
    names = {name.partition(" ")[0] for name in means}
    return "seccomp" in names and bool(names & set(FILE_WALLS))


def exists(paths: Sequence[str]) -> list[Path]:
    return [Path(path) for path in paths if os.path.lexists(path)]
