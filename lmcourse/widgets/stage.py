"""The browser's half of every widget: one anywidget class, and the rules of what stands on a page.

A widget's models run in the browser, so nothing is asked of the kernel while a slider moves; the kernel
only hears the settings (ipywidgets sends at most one unanswered message and keeps the newest). Before the
live widget a still picture is put out as an output of its own; the live widget hides it, and a notebook
opened without a kernel, or exported, shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from lmcourse.figures import Picture

if TYPE_CHECKING:
    from lmcourse.widgets.widget import Design

HERE = Path(__file__).parent


class Stage(anywidget.AnyWidget):
    """Draws one widget. `spec` is what it is, `params` the settings, `twin` the class of its still
    picture."""

    _esm = (HERE / "stage.js").read_text(encoding="utf-8")
    _css = (HERE / "stage.css").read_text(encoding="utf-8")
    spec = traitlets.Dict().tag(sync=True)
    params = traitlets.Dict().tag(sync=True)
    twin = traitlets.Unicode().tag(sync=True)


class Register:
    """The live widgets by kind and cell. Running a cell again closes what its last run had put there."""

    def __init__(self) -> None:
        self._live: dict[tuple[str, str], tuple[str, list[Stage]]] = {}

    def add(self, kind: str, cell: str, run: str, stage: Stage) -> None:
        """Note a widget; `run` tells two widgets in one run of a cell from two runs of the cell."""
        last, stages = self._live.get((kind, cell), (run, []))
        if last != run:
            for old in stages:
                old.layout.close()  # a model of its own, which closing the widget leaves behind
                old.close()
            stages = []
        self._live[(kind, cell)] = (run, [*stages, stage])

    def __len__(self) -> int:
        return sum(len(stages) for _, stages in self._live.values())


REGISTER = Register()


def place() -> tuple[str, str]:
    """Identifiers of the cell that runs now and of this run; empty where the front end does not tell."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return parent.get("metadata", {}).get("cellId", ""), parent.get("header", {}).get("msg_id", "")


def show(design: Design, params: Mapping[str, Any], language: str, still: Picture) -> Stage:
    """Put out the still picture, then the live widget over it; close the one that this cell showed before."""
    from IPython.display import display

    stage = Stage(spec=design.spec(language), params=dict(params))
    stage.twin = f"lmcourse-twin-{stage.model_id}"
    cell, run = place()
    if cell:
        REGISTER.add(design.kind, cell, run, stage)
    display({"text/html": still.html(f"lmcourse-still {stage.twin}"), "text/plain": still.alt}, raw=True)
    display(
        {
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": stage.model_id,
            },
            "text/plain": design.spec(language)["text"]["title"],
        },
        raw=True,
    )
    return stage
