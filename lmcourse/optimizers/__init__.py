"""Optimizers: which rule moves which parameter, and the rules.

The names below are imported at their first use: settings are plain values that a command line can read
without the second that importing torch takes.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "GroupedOptimizer": "optimizer",
    "OptimizerSettings": "settings",
    "adamw": "make",
    "check_groups": "groups",
    "make_optimizer": "make",
    "newton_schulz": "rules.newton_schulz",
    "optimizer_groups": "make",
    "parameter_groups": "groups",
    "set_learning_rate": "optimizer",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
