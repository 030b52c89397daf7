"""What the fork server does once so that no child has to: imports, first uses, the shell."""

from __future__ import annotations

import gc
import importlib
import io
import pkgutil
from contextlib import suppress

from .shell import Shell

LIBRARIES = (
    "matplotlib.pyplot", "matplotlib.backends.backend_agg", "matplotlib_inline.backend_inline", "ipywidgets",
    "torch.testing", "torch.utils.data", "IPython.display",
)  # fmt: skip
# What no cell imports that a judge runs: commands, and what runs whole notebooks. They can be imported late.
NOT_NEEDED = ("lmcourse.cli", "lmcourse.handin", "lmcourse.distributed", "lmcourse.checks.notebook")


def warm_up() -> Shell:
    """Load the libraries, use each once, make the shell, and keep the garbage collector away from it all."""
    for name in LIBRARIES:
        importlib.import_module(name)
    _train_once()
    _draw_once()
    _load_course()
    shell = Shell()
    shell.run("import os")
    shell.forget()
    gc.collect()
    gc.freeze()
    return shell


def _train_once() -> None:
    """torch imports a second's worth of modules at the first optimizer step, and more at a comparison."""
    import torch

    torch.set_num_threads(1)
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 2)).square().mean().backward()
    optimizer.step()
    torch.testing.assert_close(torch.ones(2), torch.ones(2))
    torch.save({"x": torch.ones(1)}, io.BytesIO())


def _draw_once() -> None:
    """Finds the fonts, and loads what writes pictures."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.plot([0, 1])
    axes.set_title("warm")
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close("all")


def _load_course() -> None:
    import lmcourse

    for module in pkgutil.walk_packages(lmcourse.__path__, "lmcourse.", onerror=lambda name: None):
        if not module.name.startswith(NOT_NEEDED) and not module.name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(module.name)
