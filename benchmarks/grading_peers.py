"""The two questions of W0 as stock nbgrader and otter-grader ask them, with tests written their way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from time import perf_counter

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

OTTER = "otter-grader==7.0.0"
Answers = dict[str, str]
TESTS = {
    "W0.1": "assert hello_check(3.0) == 7.0\nassert hello_check(-0.5) == 0.0",
    "W0.2": (
        "right, wrong = torch.relu, [torch.abs, lambda x: x, lambda x: torch.relu(x - 0.5)]\n"
        "test_relu(right)\n"
        "def rejects(impl):\n    try:\n        test_relu(impl)\n"
        "    except AssertionError:\n        return True\n"
        "    return False\n"
        "assert all(rejects(impl) for impl in wrong)"
    ),
}


def nbgrader_seconds(folder: Path, students: list[tuple[str, Answers]]) -> float:
    """Seconds of `nbgrader autograde` for all, after an assignment was released and handed in."""
    source = new_notebook(cells=[_nb("import torch", "setup", locked=True)])
    for exercise, tests in TESTS.items():
        name = exercise.replace(".", "-")
        source.cells.append(_nb("### BEGIN SOLUTION\n### END SOLUTION", f"{name}-answer", solution=True))
        hidden = f"### BEGIN HIDDEN TESTS\n{tests}\n### END HIDDEN TESTS"
        source.cells.append(_nb(hidden, name, grade=True, locked=True, points=1))
    _kernel(source)
    _write(folder / "source" / "ps" / "w.ipynb", source)
    (folder / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'peers'\n")
    _nbgrader(folder, "generate_assignment", "ps")
    released = nbformat.read(folder / "release" / "ps" / "w.ipynb", as_version=4)
    for student, answers in students:
        for cell in released.cells:
            name = cell.metadata.nbgrader.grade_id
            if name.endswith("-answer"):
                cell.source = answers[name.removesuffix("-answer").replace("-", ".")]
        _write(folder / "submitted" / student / "ps" / "w.ipynb", released)
    start = perf_counter()
    _nbgrader(folder, "autograde", "ps")
    return perf_counter() - start


def otter_seconds(folder: Path, students: list[tuple[str, Answers]]) -> float:
    """Seconds of `otter run` for each in turn, after the assignment was made; installing is not counted.

    Raises:
        subprocess.CalledProcessError: it cannot be installed, or a step of it fails.
    """
    folder.mkdir(parents=True)
    otter = _install_otter(folder)
    _write(folder / "w.ipynb", _otter_source())
    _run([*otter, "assign", "w.ipynb", "dist", "--no-run-tests"], folder)
    student_version = nbformat.read(folder / "dist" / "student" / "w.ipynb", as_version=4)
    paths = []
    for student, answers in students:
        given = iter(answers.values())
        for cell in student_version.cells:
            if cell.cell_type == "code" and cell.source.strip() == "...":
                cell.metadata["answer"] = True
            if cell.metadata.get("answer"):
                cell.source = next(given)
        paths.append(folder / f"{student}.ipynb")
        _write(paths[-1], student_version)
    [archive] = (folder / "dist" / "autograder").glob("*.zip")
    start = perf_counter()
    for path in paths:
        _run([*otter, "run", "-a", str(archive), "-o", str(folder / "out"), str(path)], folder)
    return perf_counter() - start


def _install_otter(folder: Path) -> list[str]:
    """An environment that has otter-grader and, for torch, this one's packages behind its own."""
    _run([sys.executable, "-m", "venv", "env"], folder)
    python = folder / "env" / "bin" / "python"
    _run([python, "-m", "pip", "install", "--quiet", OTTER, "ipykernel"], folder)
    there = _run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip()
    (Path(there) / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return [str(python), "-m", "otter"]


def _otter_source() -> NotebookNode:
    cells = [
        new_raw_cell("# ASSIGNMENT CONFIG\nsolutions_pdf: false\nexport_cell: false"),
        new_code_cell("import torch"),
    ]
    for number, tests in enumerate(TESTS.values(), 1):
        cells += [
            new_raw_cell(f"# BEGIN QUESTION\nname: q{number}\npoints: 1"),
            new_markdown_cell(f"Question {number}"),
            new_raw_cell("# BEGIN SOLUTION"),
            new_code_cell("... # SOLUTION"),
            new_raw_cell("# END SOLUTION"),
            new_raw_cell("# BEGIN TESTS"),
            new_code_cell(f"# HIDDEN\n{tests}"),
            new_raw_cell("# END TESTS"),
            new_raw_cell("# END QUESTION"),
        ]
    notebook = new_notebook(cells=cells)
    _kernel(notebook)
    return notebook


def _nb(source: str, name: str, *, grade=False, solution=False, locked=False, points=0) -> NotebookNode:
    marks = {"schema_version": 3, "grade_id": name, "grade": grade, "solution": solution, "locked": locked}
    marks |= {"task": False, **({"points": points} if grade else {})}
    return new_code_cell(source, metadata={"nbgrader": marks})


def _kernel(notebook: NotebookNode) -> None:
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}


def _write(path: Path, notebook: NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def _nbgrader(folder: Path, *argv: str) -> None:
    bin_ = Path(sys.executable).parent
    _run([bin_ / "nbgrader", *argv], folder, PATH=f"{bin_}{os.pathsep}{os.environ.get('PATH', '')}")


def _run(argv: list, folder: Path, **environment: str) -> str:
    env = {**os.environ, **environment}
    return subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout
