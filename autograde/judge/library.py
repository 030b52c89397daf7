"""What student code can import: a copy of worker, sandbox and course, beside installed packages."""

from __future__ import annotations

import os
import shutil
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import lmcourse
from autograde import sandbox, worker
from lmcourse.errors import CourseError

PACKAGE = "confined"  # of worker and sandbox in the copy
# Names of the judge's environment that a worker gets too: where libraries lie, and nothing else.
INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
IGNORED = shutil.ignore_patterns("__pycache__")


def furnish(library: Path, settings: Path) -> None:
    """Fill both folders: what can be imported, and what matplotlib wants to find at home."""
    package = Path(lmcourse.__file__).parent
    for part in (worker, sandbox):
        folder = Path(part.__file__).parent
        shutil.copytree(folder, library / PACKAGE / folder.name, ignore=IGNORED)
    (library / PACKAGE / "__init__.py").touch()
    shutil.copytree(package, library / "lmcourse", ignore=IGNORED)
    runs = package.parent / "data" / "runs"  # recorded runs, which notebooks may load
    if runs.is_dir():
        shutil.copytree(runs, library / "data" / "runs")
    _copy_font_list(settings)


def environment(home: Path, temporary: Path, settings: Path) -> dict[str, str]:
    """The environment of a process that runs student code."""
    return {
        **{name: os.environ[name] for name in INHERITED if name in os.environ},
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "IPYTHONDIR": str(home),
        "MPLCONFIGDIR": str(settings),
        "MPLBACKEND": "Agg",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",  # a regrade sees the same order of sets
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def libraries() -> list[str]:
    """The folders of installed packages, in which the course itself must not lie.

    Raises:
        CourseError: `autograde` is installed there, so students could import it.
    """
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    for package in ("torch", "numpy", "IPython"):
        spec = find_spec(package)
        folders.add(str(Path(spec.origin).parents[1]))
    for folder in folders:
        if (Path(folder) / "autograde").is_dir():
            raise CourseError(
                f"autograde is installed in {folder}, where student code can read it; "
                "install the course with `pip install -e .`"
            )
    return sorted(folders)


def _copy_font_list(settings: Path) -> None:
    """matplotlib lists the machine's fonts when it finds no list, which takes longer than most answers."""
    import matplotlib

    for fonts in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        shutil.copy(fonts, settings)
