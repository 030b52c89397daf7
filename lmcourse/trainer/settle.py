"""What a configuration leaves to the machine is decided once, and then belongs to the run."""

from __future__ import annotations

from dataclasses import replace

import torch

from lmcourse.optimizers.make import fast_format
from lmcourse.precision import choose_precision
from lmcourse.trainer.config import TrainConfig


def settled(config: TrainConfig) -> TrainConfig:
    """The configuration with what this machine is fast at in the place of "auto".

    A resumed run does not measure again: another answer would change its bits.
    """
    if config.precision == "auto":
        config = replace(config, precision=choose_precision("auto")[0].name)
    if config.newton_schulz == "auto" and config.optimizer == "muon":
        config = replace(config, newton_schulz=fast_format(torch.empty(0)))
    return config
