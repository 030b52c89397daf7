"""Grading the same light submissions by this course, by stock nbgrader and by otter-grader.

Each section prints lines of one table, which is written to benchmarks/grading.md at the end:

- ours: cold start with gradebook and pages; per submission when warm; a second run in which nothing changed;
- nbgrader: `nbgrader autograde` with the same questions and its own way to test them;
- otter: `otter run` one by one, in an environment of its own (installed by its name);
- killed: copies with own seeds, once undisturbed and once killed three times at random; memory.

    python -m benchmarks.grading                              # everything, 24 submissions, 1,000 copies
    python -m benchmarks.grading --only ours nbgrader --submissions 3
    python -m benchmarks.grading --only killed --copies 100
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep

import nbformat
import psutil

from autograde.build.assemble import assemble
from autograde.build.release import release
from autograde.build.source import read_source, source_path
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import PROJECT, SOLUTIONS
from benchmarks.grading_peers import nbgrader_seconds, otter_seconds
from lmcourse import exercises as registry
from lmcourse.handin.master import Master

OUTPUT = Path(__file__).with_suffix(".md")
SECTIONS = ("ours", "nbgrader", "otter", "killed")
WEEK = registry.week("W0")
RIGHT = {
    "W0.1": "def hello_check(x):\n    return 2 * x + 1",
    "W0.2": (
        "def test_relu(impl):\n    x = torch.tensor([-3.0, -0.25, 0.0, 0.25, 4.0])\n"
        "    assert torch.equal(impl(x), torch.clamp(x, min=0))"
    ),
}
WEAK = {**RIGHT, "W0.2": "def test_relu(impl):\n    assert (impl(torch.tensor([-1.0, 2.0])) >= 0).all()"}
JOBS = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--submissions", type=int, default=24, help="for the comparison (24)")
    parser.add_argument("--copies", type=int, default=1000, help="for the run that is killed (1000)")
    args = parser.parse_args()
    lines = [
        "# Grading, side by side",
        "",
        f"{args.submissions} light submissions to {WEEK.id} (a function and a test of ReLU), "
        f"{JOBS} judge processes, {os.cpu_count()} cores; one run on one machine.",
        "",
        "| what | seconds | per submission, s | memory of the command, MiB |",
        "| --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for section in args.only:
            n = args.copies if section == "killed" else args.submissions
            for line in globals()[f"_{section}"](Path(folder) / section, n):
                print(line, flush=True)
                lines.append(line)
    OUTPUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _ours(folder: Path, n: int) -> Iterator[str]:
    course = _course(folder / "course")
    _class(folder / "in", n)
    cold, memory = _grade(folder / "in", course, folder / "out")
    yield _line(f"ours, {n} submissions, cold start", cold, n, memory)
    again, memory = _grade(folder / "in", course, folder / "out")
    yield _line("ours, again, nothing changed", again, n, memory)
    three = folder / "three"
    _class(three, 3 * n)
    longer, memory = _grade(three, _course(folder / "course3"), folder / "out3")
    yield _line(f"ours, {3 * n} submissions, cold start", longer, 3 * n, memory)
    yield _line(f"ours, warm: the difference, {2 * n} submissions", longer - cold, 2 * n)


def _nbgrader(folder: Path, n: int) -> Iterator[str]:
    answers = [(name, _answers(number)) for number, name in enumerate(_names(n))]
    yield _line(f"nbgrader autograde, {n} submissions", nbgrader_seconds(folder, answers), n)


def _otter(folder: Path, n: int) -> Iterator[str]:
    answers = [(name, _answers(number)) for number, name in enumerate(_names(n))]
    try:
        seconds = otter_seconds(folder, answers)
    except subprocess.CalledProcessError as error:
        reason = (error.stderr or error.stdout or str(error)).strip().splitlines()[-1][:100]
        yield f"| otter run | not measured: {reason} | | |"
        return
    yield _line(f"otter run, {n} submissions one by one", seconds, n)


def _killed(folder: Path, n: int) -> Iterator[str]:
    """Once undisturbed, once killed three times at random moments; the marks must be equal."""
    _class(folder / "in", n)
    first = _course(folder / "course")
    second = folder / "again"
    shutil.copytree(first, second)
    seconds, memory = _grade(folder / "in", first, folder / "out")
    yield _line(f"ours, {n} copies, undisturbed", seconds, n, memory)
    rng = random.Random(0)
    moments = []
    for _ in range(3):
        moments.append(seconds * rng.uniform(0.15, 0.3))
        command = _start(folder / "in", second, folder / "out2")
        try:
            command.wait(moments[-1])
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
    rest, memory = _grade(folder / "in", second, folder / "out2")
    yield _line(
        f"ours, the same, killed after {', '.join(f'{m:.1f} s' for m in moments)}; the rest", rest, n, memory
    )
    equal = _marks(folder / "out") == _marks(folder / "out2")
    yield f"| marks of both | {'equal' if equal else '**different**'} | | |"


def _line(what: str, seconds: float, n: int, memory: int = 0) -> str:
    return f"| {what} | {seconds:.1f} | {seconds / n:.3f} | {memory / 2**20:.0f} |".replace("| 0 |", "| |")


def _grade(submissions: Path, course: Path, out: Path) -> tuple[float, int]:
    """Seconds of the command from start to end, and the most memory that its own process had."""
    start = perf_counter()
    command = _start(submissions, course, out)
    process = psutil.Process(command.pid)
    memory = 0
    while command.poll() is None:
        try:
            memory = max(memory, process.memory_info().rss)
        except psutil.Error:
            break
        sleep(0.1)
    if command.wait() != 0:
        raise SystemExit(f"autograde grade ended with status {command.returncode}")
    return perf_counter() - start, memory


def _start(submissions: Path, course: Path, out: Path) -> subprocess.Popen:
    command = Path(sys.executable).with_name("autograde")
    options = ["--submissions", submissions, "--course", course, "--out", out, "--jobs", str(JOBS)]
    return subprocess.Popen([command, "grade", WEEK.id, *options], stdout=subprocess.DEVNULL, cwd=PROJECT)


def _course(path: Path) -> Path:
    """A course folder with the week released and an empty gradebook."""
    root = CourseRoot(path)
    release(WEEK, assemble(WEEK, read_source(source_path(WEEK, SOLUTIONS))), root)
    return path


def _class(folder: Path, n: int) -> None:
    for number, name in enumerate(_names(n)):
        notebook = nbformat.from_dict(Master.load(WEEK.id).notebook)
        answers = _answers(number)
        for cell in notebook.cells:
            own = cell.metadata.get("lmcourse", {})
            if own.get("role") == "answer":
                cell.source = answers[own["exercise"]] + f"\n# {name}"
        path = folder / name / f"{WEEK.notebook}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")


def _names(n: int) -> list[str]:
    return [f"s{number:04d}" for number in range(n)]


def _answers(number: int) -> dict[str, str]:
    return WEAK if number % 4 == 3 else RIGHT


def _marks(out: Path) -> list[list[str]]:
    with open(out / "marks.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


if __name__ == "__main__":
    sys.exit(main())
