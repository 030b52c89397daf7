"""A private environment for the peers' packages, with this project's own torch and no other."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import torch

PACKAGES = ("litgpt==0.5.13", "transformers==5.3.0", "accelerate==1.15.0")


def peers_python(folder: Path) -> Path | None:
    """The interpreter of the private environment, made at the first call; None where it cannot be made.

    It sees the packages of this environment behind its own, so that all contenders compute with one torch; a
    constraint keeps the installer from bringing another.

    Args:
        folder: of the environment; kept for the next time.
    """
    python = folder / "bin" / "python"
    complete = folder / "complete"
    if complete.exists():
        return python
    subprocess.run((sys.executable, "-m", "venv", "--clear", str(folder)), check=True)
    own = sysconfig.get_path("purelib")
    [site] = folder.glob("lib/python*/site-packages")
    (site / "beside.pth").write_text(f"{own}\n", encoding="utf-8")
    constraint = folder / "constraint.txt"
    constraint.write_text(f"torch=={torch.__version__.split('+')[0]}\n", encoding="utf-8")
    install = (str(python), "-m", "pip", "install", "-q", "-c", str(constraint), *PACKAGES)
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        print(f"peers' packages: cannot be installed here; left out\n{done.stderr.strip()}", file=sys.stderr)
        return None
    complete.touch()
    return python


def versions(python: Path | None) -> str:
    """Of what takes part."""
    names = ("torch", "litgpt", "lightning", "transformers", "accelerate") if python else ("torch",)
    script = (
        f"from importlib.metadata import version\nprint(', '.join(f'{{n}} {{version(n)}}' for n in {names}))"
    )
    interpreter = str(python or sys.executable)
    return subprocess.run(
        (interpreter, "-c", script), check=True, capture_output=True, text=True
    ).stdout.strip()
