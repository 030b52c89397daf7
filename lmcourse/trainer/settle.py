"""What a configuration leaves to the machine is decided once, and then belongs to the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from lmcourse.optimizers.make import fast_format
from lmcourse.precision import choose_precision, probe
from lmcourse.trainer.compile_choice import choose_compile
from lmcourse.trainer.config import TrainConfig


def settled(config: TrainConfig, say: Callable[[str], None]) -> TrainConfig:
    """The configuration with what this machine is fast at in the place of "auto".

    A resumed run does not measure again: another answer would change its bits.

    Args:
        say: takes a line that says what was chosen, and why.
    """
    if config.precision == "auto":
        precision, reason = choose_precision("auto")
        say(reason)
        config = replace(config, precision=precision.name)
    if config.compile == "auto":
        compile, reason = choose_compile(config, probe().rates[config.precision] * 1e9)
        say(reason)
        config = replace(config, compile=compile)
    if config.newton_schulz == "auto" and config.optimizer == "muon":
        config = replace(config, newton_schulz=fast_format(torch.empty(0)))
    return config
