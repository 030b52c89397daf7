"""The trainer: a configuration, data, the step, the loop, checkpoints, logs.

The names below are imported at their first use: the command line reads the defaults of a configuration for
its help, and that should not take the second that importing torch takes.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "RunResult": "loop",
    "StepResult": "step",
    "TrainConfig": "config",
    "configure": "presets",
    "resume_run": "loop",
    "start_run": "loop",
    "training_step": "step",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
