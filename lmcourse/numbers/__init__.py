"""Number formats, rounding, narrow weights and loss scaling."""

from lmcourse.numbers.formats import FORMATS, NumberFormat
from lmcourse.numbers.loss_scaler import LossScaler
from lmcourse.numbers.narrow_weights import KEEPINGS, NarrowWeights
from lmcourse.numbers.rounding import stochastic_round_bf16

__all__ = ["FORMATS", "KEEPINGS", "LossScaler", "NarrowWeights", "NumberFormat", "stochastic_round_bf16"]
