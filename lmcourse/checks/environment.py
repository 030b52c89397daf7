"""What this machine and this notebook can do: versions, threads, number formats, widgets."""

from __future__ import annotations

import html
import importlib.metadata
import platform
import sys
from dataclasses import dataclass
from typing import Any

import torch

PACKAGES = ("torch", "numpy", "matplotlib", "jupyterlab", "ipywidgets", "anywidget", "nbgrader")
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
MARK = "lmcourse-front-end"

UNANSWERED = "no answer: widgets show as still pictures here"
ANSWERED = "yes: this page draws widgets"

# The browser's half of the question whether widgets are drawn: where this runs, the answer changes at once,
# and the kernel is told, so that it can write the answer into the notebook.
PROBE = f"""
export default {{ render({{ model, el }}) {{
  document.querySelectorAll(".{MARK}").forEach((node) => {{ node.textContent = "{ANSWERED}"; }});
  el.style.display = "none";
  model.set("answered", true);
  model.save_changes();
}} }}
"""


@dataclass(frozen=True)
class Environment:
    """Rows of (what, value); shows itself as a table, and tells whether this page draws widgets."""

    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in self.rows)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        table = display(self._bundle(UNANSWERED), raw=True, display_id=True)
        probe = _probe()
        if probe is None:
            return
        place = display(probe, display_id=True)

        def answered(_change: object) -> None:
            # What stays in the saved notebook: the answer, and no widget that a later reader could not see.
            table.update(self._bundle(ANSWERED), raw=True)
            place.update({"text/plain": ""}, raw=True)

        probe.observe(answered, "answered")

    def to_html(self, front_end: str = UNANSWERED) -> str:
        lines = [_html_row(name, html.escape(value)) for name, value in self.rows]
        lines.append(_html_row("widget front end", f'<span class="{MARK}">{html.escape(front_end)}</span>'))
        caption = '<caption style="text-align:left">This machine and this notebook</caption>'
        return f"<table>{caption}{''.join(lines)}</table>"

    def _bundle(self, front_end: str) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.to_html(front_end)}


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


def _html_row(name: str, value: str) -> str:
    left = 'style="text-align:left"'
    return f'<tr><th scope="row" {left}>{html.escape(name)}</th><td {left}>{value}</td></tr>'


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


def _probe() -> Any:
    """A widget that draws nothing and answers in the browser; None where there can be no widget."""
    if "ipykernel" not in sys.modules:
        return None
    try:
        import anywidget
        import traitlets
    except ImportError:
        return None

    class Probe(anywidget.AnyWidget):
        _esm = PROBE
        answered = traitlets.Bool(False).tag(sync=True)

    return Probe()
