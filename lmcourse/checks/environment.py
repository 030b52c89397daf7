"""What this machine and this notebook can do: versions, threads, number formats, widgets."""

from __future__ import annotations

import html
import importlib.metadata
import platform
import sys
from dataclasses import dataclass

import torch

PACKAGES = ("torch", "numpy", "matplotlib", "jupyterlab", "ipywidgets", "anywidget", "nbgrader")
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
MARK = "lmcourse-front-end"

# The browser's half of the question whether widgets are drawn: if this runs, the answer above it changes.
PROBE = f"""
export default {{ render({{ el }}) {{
  document.querySelectorAll(".{MARK}").forEach((node) => {{
    node.textContent = "yes: this page draws widgets";
  }});
  el.style.display = "none";
}} }}
"""
UNANSWERED = "no answer: widgets show as still pictures here"


@dataclass(frozen=True)
class Environment:
    """Rows of (what, value); shows itself as a table, and tells whether this page draws widgets."""

    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in self.rows)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display({"text/plain": str(self), "text/html": self.to_html()}, raw=True)
        probe = _probe()
        if probe is not None:
            display(probe)

    def to_html(self) -> str:
        lines = [
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for name, value in self.rows
        ]
        live = f'<td style="text-align:left"><span class="{MARK}">{UNANSWERED}</span></td>'
        lines.append(f'<tr><th scope="row" style="text-align:left">widget front end</th>{live}</tr>')
        return f"<table><caption>This machine and this notebook</caption>{''.join(lines)}</table>"


def environment() -> Environment:
    """Look at versions, threads and number formats; each format is tried on a small matrix product."""
    packages = [(name, _version(name)) for name in PACKAGES]
    formats = [(f"{_name(dtype)} matrix product", _try_product(dtype)) for dtype in DTYPES]
    return Environment(
        (
            ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
            *packages,
            ("threads of torch", str(torch.get_num_threads())),
            ("graphics card", _accelerator()),
            *formats,
        )
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _try_product(dtype: torch.dtype) -> str:
    """Multiply small whole numbers, which every format holds exactly, and compare with int64."""
    left = torch.arange(12).reshape(3, 4) % 5
    right = torch.arange(8).reshape(4, 2) % 3
    try:
        product = left.to(dtype) @ right.to(dtype)
    except RuntimeError as error:
        return f"no: {str(error).splitlines()[0]}"
    if product.dtype != dtype or not torch.equal(product.long(), left @ right):
        return "gives wrong numbers"
    return f"works ({torch.finfo(dtype).bits} bits, spacing at 1 is {torch.finfo(dtype).eps:.2g})"


def _accelerator() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    if torch.backends.mps.is_available():
        return "Apple GPU (not needed)"
    return "none (not needed)"


def _probe() -> object | None:
    """A widget that draws nothing and answers in the browser; None where there can be no widget."""
    if "ipykernel" not in sys.modules:
        return None
    try:
        import anywidget
    except ImportError:
        return None
    return anywidget.AnyWidget(_esm=PROBE)
