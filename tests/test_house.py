"""The house itself: pins that agree, layers that run one way, nothing secret on the student's side."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Later rooms may import earlier ones, never the other way round.
LAYERS = [
    {
        "errors",
        "averages",
        "exercises",
        "corpora",
        "tokenizers",
        "packing",
        "toys",
        "threads",
        "handin",
        "numbers",
    },
    {"data", "distributed", "model", "objective", "optimizers", "precision", "schedules"},
    {"evaluation", "monitor"},
    {"trainer"},
    {"experiments", "figures"},
    {"widgets", "checks"},
    {"cli", "__main__"},
]


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lock() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().split()
    return {normalized(name): version for name, _, version in (line.partition("==") for line in lines)}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins() -> list[str]:
    return project()["dependencies"] + project()["optional-dependencies"]["dev"]


@pytest.mark.parametrize("pin", pins())
def test_every_dependency_is_pinned_and_the_lock_agrees(pin: str) -> None:
    name, separator, version = pin.partition("==")
    assert separator, f"{pin} is not pinned with =="
    assert lock().get(normalized(name)) == version


def test_conda_environment_installs_the_same_set() -> None:
    text = (ROOT / "environment.yml").read_text()
    assert "--constraint requirements.lock" in text
    assert "--editable .[dev]" in text
    lowest = project()["requires-python"].removeprefix(">=")
    assert f"python>={lowest}" in text


@pytest.mark.parametrize("pin", pins())
def test_every_dependency_has_a_reason(pin: str) -> None:
    assert pin.partition("==")[0] in (ROOT / "docs" / "dependencies.md").read_text()


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def rooms_imported(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("lmcourse.")}


def level(room: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if room in layer)


MODULES = sorted((ROOT / "lmcourse").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_layers_run_one_way(path: Path) -> None:
    room = path.relative_to(ROOT / "lmcourse").parts[0].removesuffix(".py")
    if room == "__init__":
        assert not rooms_imported(path)
        return
    known = set().union(*LAYERS)
    assert room in known, f"{room} has no layer; add it to LAYERS and to docs/architecture.md"
    above = {other for other in rooms_imported(path) & known if level(other) > level(room)}
    assert not above, f"{room} imports from a later layer: {sorted(above)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_students_package_never_imports_the_graders(path: Path) -> None:
    assert not {name for name in imports(path) if name.split(".")[0] == "autograde"}


WORKER = sorted((ROOT / "autograde" / "worker").glob("*.py"))


@pytest.mark.parametrize("path", WORKER, ids=lambda p: p.name)
def test_the_worker_imports_nothing_else_of_the_grader(path: Path) -> None:
    ours = {name for name in imports(path) if name.startswith("autograde")}
    others = {name for name in ours if not name.startswith("autograde.worker")}
    assert not others


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.name)
def test_student_notebooks_hold_no_secret_and_no_widget_state(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    widget_state = "application/vnd.jupyter.widget-state"
    for mark in ("BEGIN SOLUTION", "BEGIN HIDDEN TESTS", "autograde.run", widget_state):
        assert mark not in text
