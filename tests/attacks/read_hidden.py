"""Attacks that want to see hidden tests, marks, other students' work or the machine's secrets."""

from __future__ import annotations

from attack import READ, Attack, looking

ATTACKS = [
    Attack(
        "course tree",
        READ,
        "Opens hidden tests, solutions and notes by their full path.",
        answers=looking("""
for path in ("autograde/weeks/week01/w1_3.py", "solutions/week01_packing.py", "README.md", ".git/config",
             "autograde/judge/score.py", "pyproject.toml", "tests/autograde/small_course.py"):
    try:
        found.append(open("@PROJECT@/" + path).read()[:200])
    except OSError:
        pass
try:
    found += os.listdir("@PROJECT@")
except OSError:
    pass
"""),
    ),
    Attack(
        "gradebook and submissions",
        READ,
        "Opens the gradebook, the course secret and a neighbor's notebook.",
        answers=looking("""
for folder, _, files in os.walk("@COURSE@"):
    for name in files:
        found.append(open(os.path.join(folder, name)).read())
for name in ("gradebook.db", "course_secret", ".env", "submitted/bob/week01.ipynb"):
    try:
        found.append(open("@COURSE@/" + name).read())
    except OSError:
        pass
"""),
    ),
    Attack(
        "whole disk",
        READ,
        "Walks all folders and takes what sounds interesting.",
        answers=looking("""
import time
end = time.process_time() + 0.3
for folder, _, files in os.walk("/"):
    if time.process_time() > end:
        break
    for name in files:
        if name.startswith(("w1_", "gradebook", "course_secret", ".env", "shadow", "id_")):
            try:
                found.append(open(os.path.join(folder, name), errors="replace").read(300))
            except OSError:
                pass
"""),
    ),
    Attack(
        "homes",
        READ,
        "Looks for keys and settings in everybody's home.",
        answers=looking("""
import pwd, glob
homes = {"/root", "/home", os.path.expanduser("~root")}
try:
    homes |= {p.pw_dir for p in pwd.getpwall() if p.pw_uid == 0 or p.pw_uid >= 1000}
except OSError:
    pass
for home in homes:
    for pattern in ("/.env", "/.ssh/*", "/.netrc", "/.bash_history", "/*", "/.config/*"):
        for path in glob.glob(home + pattern):
            if "HOME_OF_MINE" not in path:
                try:
                    found.append("CANARY " + open(path, errors="replace").read(100))
                except OSError:
                    pass
"""),
    ),
    Attack(
        "environment",
        READ,
        "Reads its own environment and that of every process.",
        answers=looking("""
import glob
found.append(dict(os.environ))
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/*/task/*/environ"):
    try:
        found.append(open(path, "rb").read())
    except OSError:
        pass
found = [f for f in found if "CANARY" in str(f)]
"""),
    ),
    Attack(
        "descriptors",
        READ,
        "Reads from and seeks in everything that is open, here and in ancestors.",
        answers=looking("""
import glob
for fd in range(256):
    try:
        found.append(os.readlink(f"/proc/self/fd/{fd}"))
        found.append(os.pread(fd, 200, 0))
    except OSError:
        pass
for path in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        found.append(open(path, "rb").read(200))
    except OSError:
        pass
found = [f for f in found if "@PROJECT@" in str(f) or "CANARY" in str(f)]
"""),
    ),
    Attack(
        "memory of ancestors",
        READ,
        "Reads the memory of the parent, by /proc, by ptrace and by a system call.",
        answers=looking("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for pid in {os.getppid(), 1, 2, @JUDGE@} - {os.getpid(), 0}:
    for name in ("mem", "maps", "cmdline", "auxv", "syscall"):
        try:
            found.append("CANARY " + name + repr(open(f"/proc/{pid}/{name}", "rb").read(64)))
        except OSError:
            pass
    if libc.ptrace(16, pid, 0, 0) == 0 or libc.ptrace(0x4206, pid, 0, 0) == 0:
        found.append("CANARY attached")
    here = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
    if libc.syscall(310, pid, here, 1, here, 1, 0) > 0:
        found.append("CANARY read memory")
"""),
    ),
    Attack(
        "roots of others",
        READ,
        "Reaches the course through the root and working folder of other processes.",
        answers=looking("""
import glob
for way in glob.glob("/proc/[0-9]*/root") + glob.glob("/proc/[0-9]*/cwd"):
    try:
        found.append(open(way + "@PROJECT@/pyproject.toml").read(100))
    except OSError:
        pass
"""),
    ),
    Attack(
        "tracebacks",
        READ,
        "Takes the variables of every frame on the way down to it.",
        answers=looking("""
frame = sys._getframe(1)
while frame is not None:
    found += [f"{k}={v!r}" for k, v in {**frame.f_globals, **frame.f_locals}.items()
              if any(w in f"{k}{v!r}" for w in ("HiddenExercise", "expected", "secret", "autograde.judge"))]
    frame = frame.f_back
"""),
    ),
    Attack(
        "garbage collector",
        READ,
        "Looks for hidden tests among all objects in memory.",
        answers=looking("""
import gc
for thing in gc.get_objects():
    try:
        name = type(thing).__name__
        if name in ("HiddenExercise", "Draw", "Property", "Solution", "SubmissionVerdict", "Master"):
            found.append("CANARY " + name)
    except BaseException:
        pass
"""),
    ),
    Attack(
        "imports",
        READ,
        "Imports the grader, by name and through what an editable install left behind.",
        answers=looking("""
import importlib, glob, site
for folder in list(sys.path) + site.getsitepackages():
    for path in glob.glob(folder + "/*.pth") + glob.glob(folder + "/__editable__*"):
        for line in open(path, errors="replace"):
            if line.startswith("/"):
                sys.path.append(line.strip())
sys.path += ["@PROJECT@", "@PROJECT@/solutions", "@PROJECT@/tests/autograde"]
importlib.invalidate_caches()
for name in ("autograde", "autograde.weeks.week01.w1_3", "small_course", "week01_packing"):
    try:
        found.append("CANARY " + importlib.import_module(name).__name__)
    except ImportError:
        pass
"""),
    ),
    Attack(
        "links",
        READ,
        "Puts links to hidden files into its own folder and reads them there.",
        answers=looking("""
for make in (os.symlink, os.link):
    for number, target in enumerate(("@PROJECT@/pyproject.toml", "@COURSE@/gradebook.db", "/etc/shadow")):
        try:
            make(target, f"link{number}")
            found.append(open(f"link{number}").read(200))
        except OSError:
            pass
"""),
    ),
    Attack(
        "other workers",
        READ,
        "Looks into the folders of other workers and talks to the fork server.",
        answers=looking("""
import glob, socket, tempfile
for path in glob.glob("/tmp/submission-*/**", recursive=True):
    if "/run/" in path and not path.startswith(os.path.dirname(os.getcwd())):
        found += ["CANARY " + p for p in ([path] if os.path.isfile(path) else [])]
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    for address in glob.glob("/tmp/submission-*/judges") + ["@SERVER@", "\\0abstract"]:
        try:
            s = socket.socket(socket.AF_UNIX, kind)
            s.connect(address)
            found.append("CANARY connected")
        except OSError:
            pass
"""),
    ),
    Attack(
        "file handles",
        READ,
        "Opens files by handle instead of by path, past all folders.",
        answers=looking("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(b"\\x08\\0\\0\\0\\x01\\0\\0\\0" + b"\\x02" + bytes(7), 64)
fd = libc.open_by_handle_at(-100, handle, 0)
if fd >= 0:
    found.append("CANARY " + str(os.listdir(fd)))
"""),
    ),
    Attack(
        "new namespaces",
        READ,
        "Makes a world of its own in which it may mount and change the root.",
        answers=looking("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x10020000, 0x20000):
    if libc.unshare(flags) == 0:
        found.append("CANARY unshared")
for path in (b"/proc/1/ns/mnt", b"/proc/self/ns/mnt"):
    fd = libc.open(path, 0)
    if fd >= 0 and libc.setns(fd, 0) == 0:
        found.append("CANARY entered")
if libc.chroot(b".") == 0:
    found.append("CANARY chroot")
if libc.mount(b"none", b".", b"tmpfs", 0, None) == 0:
    found.append("CANARY mounted")
"""),
    ),
    Attack(
        "calls under other numbers",
        READ,
        "io_uring, openat2 and the 32-bit numbers, which filters forget.",
        answers=looking("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(425, 8, ctypes.create_string_buffer(256)) >= 0:
    found.append("CANARY io_uring")
how = (ctypes.c_uint64 * 3)(0, 0, 0)
if libc.syscall(437, -100, b"@PROJECT@/pyproject.toml", how, 24) >= 0:
    found.append("CANARY openat2")
"""),
    ),
    Attack(
        "x32 calls",
        READ,
        "The other calling convention of the same processor.",
        answers=looking(
            "import ctypes\nctypes.CDLL(None).syscall(0x40000000 + 2, b'@PROJECT@/pyproject.toml', 0)\n"
        ),
        state="student_error",
    ),
    Attack(
        "shared memory and keys",
        READ,
        "Looks for what others left in shared memory and in the kernel's keyrings.",
        answers=looking("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
try:
    found += ["CANARY " + name for name in os.listdir("/dev/shm")]
except OSError:
    pass
if libc.syscall(250, 0, -3, 0) >= 0:
    found.append("CANARY keyring")
if libc.shmget(7, 4096, 0o1600) >= 0:
    found.append("CANARY shared memory")
"""),
    ),
]
