"""Tries each means of confinement on this machine, and says how to get what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import identity, kernel, landlock, seccomp

TRY_SECONDS = 30
WANTED_LANDLOCK = 6
ENTER = """
import sys
from pathlib import Path
from autograde.sandbox import confine, namespaces
namespaces.enter(Path(sys.argv[1]), confine.exists(("/usr/lib",)), confine.DEVICES, Path("/tmp/run"))
worlds = namespaces.ProcessWorlds()
pid = worlds.fork()
if pid == 0:
    import os
    os._exit(0 if os.getpid() == 1 else 3)
import os
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@dataclass(frozen=True)
class Means:
    """One means: whether it works here, in words what was found, and what to do where it does not."""

    name: str
    works: bool
    found: str
    advice: str = ""


def probe() -> list[Means]:
    """All means, the strongest last."""
    return [_limits(), _seccomp(), _landlock(), _spare_user(), _fork_server(), _namespaces()]


def _limits() -> Means:
    try:
        import resource  # noqa: F401
    except ImportError:
        return Means("limits", False, "this system has no resource limits", "grade on Linux, or inside WSL")
    weak = "" if sys.platform == "linux" else "; the address space is watched from outside"
    return Means("limits", True, f"processor time, memory, files, descriptors{weak}")


def _seccomp() -> Means:
    if seccomp.available():
        return Means("seccomp", True, "no programs, processes, network or signals to others")
    if kernel.machine() is None:
        return Means("seccomp", False, "not on this system", "grade on 64-bit Linux (x86-64 or ARM)")
    advice = "run a kernel with CONFIG_SECCOMP_FILTER, or a container runtime that passes seccomp on"
    return Means("seccomp", False, "the kernel takes no filter", advice)


def _landlock() -> Means:
    version = landlock.version()
    if version >= WANTED_LANDLOCK:
        return Means("landlock", True, f"version {version}: files, network, signals")
    if version:
        advice = f"Linux 6.12 brings version {WANTED_LANDLOCK}; seccomp covers network and signals until then"
        return Means("landlock", True, f"version {version}: files", advice)
    advice = (
        "Linux 5.13 or later with landlock in the boot option lsm=; a container inherits it from its host"
    )
    return Means("landlock", False, "the kernel has none", advice)


def _spare_user() -> Means:
    if sys.platform != "linux" or os.geteuid() != 0:
        return Means("spare user", False, "only root can take another user id", "start the grader as root")
    uid = identity.spare(0, [])
    if uid is None:
        return Means("spare user", False, "no user id is free here", "map more user ids into the container")
    return Means("spare user", True, f"as {uid}, where its libraries can be reached by everybody")


def _fork_server() -> Means:
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        try:
            os.close(os.pidfd_open(os.getpid()))
            return Means("fork server", True, "workers start warm")
        except OSError as error:
            return Means("fork server", False, f"no process handles: {error}", "Linux 5.3 or later")
    return Means(
        "fork server", False, "not on this system: workers start cold, some seconds each", "use Linux"
    )


def _namespaces() -> Means:
    name = "namespaces"
    if kernel.machine() is None:
        return Means(name, False, "not on this system", "grade on 64-bit Linux (x86-64 or ARM)")
    with tempfile.TemporaryDirectory() as root:
        command = [sys.executable, "-c", ENTER, root]
        project = str(Path(__file__).resolve().parents[2])
        try:
            tried = subprocess.run(
                command, cwd=project, capture_output=True, text=True, timeout=TRY_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Means(name, False, str(error), _how_to_get_namespaces())
    if tried.returncode == 0:
        return Means(name, True, "a root with the libraries alone, no network, a process world per worker")
    reason = next((line for line in reversed(tried.stderr.splitlines()) if line.strip()), "no reason given")
    return Means(name, False, reason.strip(), _how_to_get_namespaces())


def _how_to_get_namespaces() -> str:
    for file, refused, advice in (
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "give this Python an AppArmor profile with the rule `userns,`, or start the grader as root",
        ),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
    ):
        try:
            if Path(file).read_text().strip() == refused:
                return advice
        except OSError:
            continue
    return (
        "in a container: --security-opt seccomp=unconfined --cap-add SYS_ADMIN, or start the grader outside"
    )
