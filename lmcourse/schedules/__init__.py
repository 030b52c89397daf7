"""Learning rate, sequence length and batch size as pure functions of the optimizer step.

A resumed run has nothing of them to restore, and a step that was skipped does not move them.
"""

from lmcourse.schedules.batch_plan import BatchPlan
from lmcourse.schedules.continuing import branched, extended
from lmcourse.schedules.cosine import warmup_cosine
from lmcourse.schedules.schedule import KINDS, SHAPES, Schedule, factor

__all__ = ["KINDS", "SHAPES", "BatchPlan", "Schedule", "branched", "extended", "factor", "warmup_cosine"]
