"""Resource limits that a process puts on itself before it runs any student code.

On Linux all of them hold. macOS does not enforce the address space: there the judge watches the resident
size. Windows has no `resource` module, hence none of these.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from contextlib import suppress
from pathlib import Path

FILE_BYTES = 256 * 2**20
OPEN_FILES = 512
TOTAL_CPU_SECONDS = 3_600  # the judge's own deadlines are far shorter; this ends a worker that lost its judge
THREADS = 256  # only for a user id of its own: the kernel counts per user
PR_SET_PDEATHSIG = 1


def apply(memory_bytes: int, own_user: bool = False) -> bool:
    """Cap files, descriptors, processor time and, on Linux, address space beyond what is used now.

    Returns whether this system has limits at all.
    """
    try:
        import resource
    except ImportError:
        return False
    caps = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CPU: TOTAL_CPU_SECONDS,
    }
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        caps[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory_bytes
        caps[resource.RLIMIT_MSGQUEUE] = 0
    if own_user:
        caps[resource.RLIMIT_NPROC] = THREADS
    for limit, cap in caps.items():
        with suppress(ValueError, OSError):  # a stricter limit is in force already
            resource.setrlimit(limit, (cap, cap))
    return True


def die_with_parent() -> None:
    """Have Linux kill this process when its parent is gone; elsewhere the processor time limit ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
