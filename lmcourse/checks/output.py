"""Put results in front of the student: rich output in a notebook, plain text anywhere else."""

from __future__ import annotations

import sys
from typing import Any


def running_shell() -> Any | None:
    """The IPython shell that runs this code, or None outside of IPython."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


def emit(text: str, bundle: dict[str, Any] | None = None) -> None:
    """Display a bundle of MIME types with its plain `text`, or print the text outside of a notebook."""
    if running_shell() is None:
        print(text)
        return
    from IPython.display import display

    display({"text/plain": text, **(bundle or {})}, raw=True)


def emit_markdown(text: str) -> None:
    """Display markdown in a notebook; elsewhere its source is the plain text."""
    emit(text, {"text/markdown": text})
