"""Each means alone, in a process that is thrown away: what it refuses, and what it leaves to honest work."""

import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from autograde.judge import confinement, launch
from autograde.judge.ended import AnswerEnded
from autograde.judge.limits import Limits
from autograde.judge.remote import RemoteWorker
from autograde.project import PROJECT
from autograde.sandbox import confine, folders, identity, kernel, landlock, probe, seccomp
from lmcourse.errors import CourseError

linux = pytest.mark.skipif(kernel.machine() is None, reason="a means of 64-bit Linux")
with_landlock = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
with_seccomp = pytest.mark.skipif(not seccomp.available(), reason="this kernel takes no filters")


def alone(code, *arguments):
    """The words that a new process prints."""
    head = "import ctypes, errno, os, socket, sys, threading\nfrom autograde.sandbox import *\n"
    head += "from autograde.sandbox import confine, identity, landlock, resources, seccomp\n"
    head += textwrap.dedent(
        """
        def tried(act):
            try:
                act()
                return "done"
            except OSError as error:
                return errno.errorcode[error.errno]
        """
    )
    command = [sys.executable, "-c", head + textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@with_landlock
def test_landlock_opens_what_is_named_and_nothing_else(tmp_path):
    for name in ("read", "write", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    code = """
        base = sys.argv[1]
        landlock.restrict([base + "/read", base + "/missing"], [base + "/write"], ["/dev/null"])
        print(tried(lambda: open(base + "/read/file").close()))
        print(tried(lambda: open(base + "/read/new", "w").close()))
        print(tried(lambda: open(base + "/write/new", "w").close()))
        print(tried(lambda: os.mkdir(base + "/write/folder")))
        print(tried(lambda: os.symlink(base, base + "/write/link")))
        print(tried(lambda: os.mkfifo(base + "/write/pipe")))
        print(tried(lambda: open(base + "/other/file").close()))
        print(tried(lambda: os.unlink(base + "/other/file")))
        print(tried(lambda: os.rename(base + "/other/file", base + "/write/stolen")))
        print(tried(lambda: open("/dev/null", "w").close()))
        print(tried(lambda: os.listdir("/")))
    """
    refused = "EACCES"
    expected = ["done", refused, "done", "done", refused, refused, refused, refused]
    said = alone(code, tmp_path)
    assert said[:8] == expected and said[8] in (refused, "EXDEV") and said[9:] == ["done", refused]


@with_landlock
def test_landlock_closes_tcp_where_the_kernel_can():
    code = """
        abi = landlock.restrict(["/"], [])
        s = socket.socket()
        print(abi, tried(lambda: s.bind(("127.0.0.1", 0))), tried(lambda: s.connect(("127.0.0.1", 9))))
    """
    abi, bind, connect = alone(code)
    if int(abi) >= 4:
        assert (bind, connect) == ("EACCES", "EACCES")


@with_seccomp
def test_the_filter_refuses_what_no_answer_needs():
    code = """
        from autograde.sandbox.kernel import number as kernel_number
        parent = os.getppid()
        seccomp.restrict()
        libc = ctypes.CDLL(None, use_errno=True)
        def raw(*numbers):
            if libc.syscall(*numbers) < 0:
                raise OSError(ctypes.get_errno(), "")
        print(tried(os.fork), tried(lambda: os.execv("/bin/true", ["true"])))
        print(tried(lambda: socket.socket()), tried(lambda: os.kill(parent, 0)))
        print(tried(lambda: os.kill(-1, 0)), tried(lambda: os.memfd_create("x")))
        print(tried(lambda: os.setpriority(os.PRIO_PROCESS, parent, 19)))
        print(tried(lambda: os.sched_setaffinity(parent, {0})))
        print(tried(lambda: raw(kernel_number("ptrace"), 16, parent, 0, 0)))
        print(tried(lambda: raw(kernel_number("unshare"), 0x10000000)))
        print(tried(lambda: raw(kernel_number("prctl"), 1, 0, 0, 0, 0)))
        print(tried(lambda: raw(400_000)))
    """
    said = alone(code)
    assert said[:-1] == ["EPERM"] * (len(said) - 1) and said[-1] == "ENOSYS"


@with_seccomp
def test_the_filter_leaves_threads_pairs_files_and_signals_to_oneself(tmp_path):
    code = """
        import asyncio, shutil, signal, tempfile
        os.chdir(sys.argv[1])
        open("a", "w").write("x")
        os.chmod("a", 0o600)
        seccomp.restrict()
        t = threading.Thread(target=lambda: print("thread"))
        t.start(); t.join()
        a, b = socket.socketpair()
        a.send(b"pair"); print(b.recv(9).decode())
        asyncio.run(asyncio.sleep(0))
        shutil.copy2("a", "b")
        os.chmod("a", 0o777)
        print(oct(os.stat("a").st_mode & 0o777))
        signal.signal(signal.SIGUSR1, lambda *a: print("signal"))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        print(tried(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))))
    """
    assert alone(code, tmp_path) == ["thread", "pair", "0o600", "signal", "signal", "done"]


@linux
def test_the_program_of_the_filter_is_whole():
    """Every instruction is known, and every jump lands inside."""
    code = seccomp.program(1234)
    steps = [struct.unpack("=HBBI", code[i : i + 8]) for i in range(0, len(code), 8)]
    assert len(steps) < 4096 and steps[-1] == (seccomp.RETURN, 0, 0, seccomp.ALLOW)
    for at, (kind, yes, no, _) in enumerate(steps):
        assert kind in (seccomp.LOAD, seccomp.EQUAL, seccomp.AT_LEAST, seccomp.ANY_BIT, seccomp.RETURN)
        assert at + 1 + max(yes, no) < len(steps) or kind == seccomp.RETURN


@linux
def test_the_numbers_are_those_of_the_systems_header():
    header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
    if kernel.machine() != "x86_64" or not os.path.exists(header):
        pytest.skip("no header of this architecture to compare with")
    words = [
        line.split() for line in Path(header).read_text().splitlines() if line.startswith("#define __NR_")
    ]
    numbers = {name.removeprefix("__NR_"): int(value) for _, name, value in words}
    ours = {name: column[0] for name, column in kernel.NUMBERS.items() if name in numbers}
    assert len(ours) > 90 and ours == {name: numbers[name] for name in ours}


@linux
def test_limits_and_capabilities_go_for_good():
    code = """
        from pathlib import Path
        identity.drop_capabilities()
        resources.apply(2**30)
        import resource
        status = Path("/proc/self/status").read_text()
        print(status.split("CapEff:")[1].split()[0])
        for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_CPU):
            try:
                resource.setrlimit(limit, (-1, -1))
                print("raised")
            except ValueError:
                print("refused")
    """
    assert alone(code) == ["0" * 16, "refused", "refused", "refused"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can take another id")
def test_a_spare_user_is_nobody_and_owns_nothing(tmp_path):
    uid = identity.spare(3, [])
    assert uid is not None and uid != identity.spare(4, [])
    (tmp_path / "mine").touch(mode=0o600)
    code = """
        identity.become(int(sys.argv[1]))
        print(os.getuid(), tried(lambda: open(sys.argv[2])), os.getgroups())
    """
    assert alone(code, uid, tmp_path / "mine") == [str(uid), "EACCES", "[]"]


def test_a_folder_that_others_may_not_pass_leaves_no_spare_user(tmp_path):
    (tmp_path / "closed" / "libraries").mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    assert identity.spare(0, [tmp_path / "closed" / "libraries"]) is None


def test_a_folder_is_measured_and_deleted_whatever_is_in_it(tmp_path):
    private = tmp_path / "private"
    deep = private
    for _ in range(30):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(bytes(100_000))
    (private / "loop").symlink_to(private)
    outside = tmp_path / "outside"
    outside.mkdir()
    (private / "out").symlink_to(outside)
    assert 100_000 < folders.used(private) < 400_000
    (private / "d").chmod(0)
    folders.delete(private)
    assert not private.exists() and outside.exists()


@pytest.mark.parametrize(
    ("means", "enough"),
    [
        (["process", "limits", "landlock 3", "seccomp"], True),
        (["process", "mount", "net", "limits", "seccomp"], True),
        (["process", "limits", "seccomp"], False),
        (["process", "limits", "landlock 7"], False),
        (["process"], False),
    ],
)
def test_confined_means_a_wall_before_files_and_one_before_the_kernel(means, enough):
    assert confine.is_confined(means) is enough
    if not enough:
        with pytest.raises(AnswerEnded, match="allow-unconfined") as info:
            confinement.check(means, allow_unconfined=False)
        assert info.value.state == "infrastructure_fault"
    confinement.check(means, allow_unconfined=True)


def test_a_machine_without_filters_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(seccomp, "available", lambda: False)
    with pytest.raises(CourseError, match="autograde doctor"):
        confinement.require(Limits())
    confinement.require(Limits(allow_unconfined=True))


def test_a_worker_that_cannot_be_confined_grades_nobody(monkeypatch):
    """The worker itself says what it has; where that is too little, it is a fault and no mark."""
    monkeypatch.setattr(confinement, "is_confined", lambda means: False)
    with pytest.raises(AnswerEnded, match="cannot be confined"):
        RemoteWorker(Limits())
    worker = RemoteWorker(Limits(allow_unconfined=True))
    worker.close()


def test_a_worker_names_what_confines_it():
    worker = RemoteWorker(Limits(allow_unconfined=True))
    isolation = worker.isolation.split(" + ")
    worker.close()
    assert isolation[0] == "process" and "limits" in isolation
    found = {means.name for means in probe.probe() if means.works}
    assert {"seccomp"} & found == {"seccomp"} & set(isolation)
    if "fork server" in found and not launch.why_cold():
        assert "fork server" in isolation


def test_the_doctor_names_every_means_and_how_to_get_what_is_missing(capsys, monkeypatch):
    from autograde.cli.main import main

    monkeypatch.setattr(landlock, "version", lambda: 0)
    assert main(["doctor", "--quick"]) == 0
    said = capsys.readouterr().out
    for name in ("limits", "seccomp", "landlock", "spare user", "fork server", "namespaces"):
        assert name in said
    assert "missing landlock" in said and "Linux 5.13" in said


def test_the_doctor_ends_with_what_a_worker_really_has(capsys):
    from autograde.cli.main import main

    status = main(["doctor"])
    said = capsys.readouterr().out
    assert "a worker runs in: process" in said and status in (0, 1)
    assert ("that is not enough" in said) == (status == 1)
