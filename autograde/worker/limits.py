"""Limits that the worker puts on itself before it runs any student code; only root could raise them again.

On Linux all of them hold. macOS does not enforce the address space: there the judge watches the resident
size. Windows has no `resource` module, hence none of these: grading there needs the limits of a container.
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
PR_SET_PDEATHSIG = 1


def apply(memory_bytes: int) -> None:
    """Cap files, descriptors, processor time and, on Linux, address space beyond what is used now."""
    try:
        import resource
    except ImportError:
        return
    caps = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CPU: TOTAL_CPU_SECONDS,
    }
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        caps[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory_bytes
    for limit, cap in caps.items():
        with suppress(ValueError, OSError):  # a stricter limit is in force already
            resource.setrlimit(limit, (cap, cap))


def die_with_parent() -> None:
    """Have Linux kill this process when the judge is gone; elsewhere the processor time limit ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
