"""Whether a run is long enough for the compiler to pay."""

from __future__ import annotations

from lmcourse.model.attend import LONG_ROWS
from lmcourse.model.compiling import what_is_missing
from lmcourse.trainer.config import TrainConfig

WORTH = 180.0  # seconds of training; compiling takes 15 to 35 of them once, and saves about a fifth
REACHED = 0.6  # share of the rate of large products that a step of a small model reaches


def choose_compile(config: TrainConfig, rate: float) -> tuple[str, str]:
    """ "on" or "off", and a line that says why.

    Args:
        config: with its precision settled.
        rate: operations a second of products in that precision.
    """
    if (missing := what_is_missing()) is not None:
        return "off", f"compile off ({missing})"
    if config.ramp:
        return "off", "compile off (each new number of rows would be compiled anew)"
    if config.mask and config.context >= LONG_ROWS:
        return "off", "compile off (each batch has other documents, and would be compiled anew)"
    parameters = 12 * config.layers * config.width**2
    operations = 6 * parameters * config.steps * config.batch * config.context
    seconds = operations / (REACHED * rate)
    if seconds < WORTH:
        return "off", f"compile off (about {seconds:.0f} s of products; from {WORTH:.0f} s on it pays)"
    return "on", f"compile on (about {seconds:.0f} s of products; the first step takes half a minute)"
