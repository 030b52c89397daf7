"""Several processes that train one model: each has the whole model and a share of every step's rows."""

from lmcourse.distributed.environment import from_environment, join
from lmcourse.distributed.ranks import Ranks, single

__all__ = ["Ranks", "from_environment", "join", "single"]
