"""Watching a run: spikes, per-layer figures, non-finite values, speed."""

from lmcourse.monitor.monitor import Monitor
from lmcourse.monitor.skips import SkipList
from lmcourse.monitor.spikes import SpikeRule, SpikeSettings

__all__ = ["Monitor", "SkipList", "SpikeRule", "SpikeSettings"]
