"""Whether a step may update the model: a robust rule that a NaN, a spike or a flat window cannot upset.

Rules of the form "mean + 6 standard deviations of the last 128 losses" fail in three ways: a NaN that enters
the window makes the deviation NaN for 128 steps; the spike itself stays in the window and hides the next; a
flat window has no deviation, so any rise counts. Here only accepted values enter the window, the center is
the median and the width comes from the median absolute deviation (Huber 1981), with a floor.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["ok", "skip", "roll_back"]
MAD_TO_STD = 1.4826  # of a normal distribution
SMOOTHING = 0.1  # share of the newest loss


@dataclass(frozen=True)
class SpikeSettings:
    """
    Attributes:
        enabled: False judges nothing but finiteness.
        window: accepted steps that the center comes from.
        warmup: accepted steps before anything but finiteness is judged.
        width: deviations above the center at which a loss is a spike.
        norm_factor: multiples of the median at which a gradient norm is a spike; clipping bounds the rest.
        floor: smallest deviation, as a share of the median.
        skips: spikes in a row that call for a roll-back.
        rise: nats of the smoothed loss above its best...
        rise_steps: ...for so many accepted steps in a row that call for a roll-back.
        roll_backs: most of them in a run.
    """

    enabled: bool = True
    window: int = 128
    warmup: int = 32
    width: float = 10.0
    norm_factor: float = 20.0
    floor: float = 0.02
    skips: int = 3
    rise: float = 1.0
    rise_steps: int = 50
    roll_backs: int = 2


class SpikeRule:
    """Judges each step before its update. What it decides from is part of the training state."""

    def __init__(self, settings: SpikeSettings | None = None) -> None:
        self.settings = settings or SpikeSettings()
        self.reason = ""  # in words, where the last step was not simply accepted
        self.roll_backs = 0  # done so far
        self._losses: deque[float] = deque(maxlen=self.settings.window)
        self._norms: deque[float] = deque(maxlen=self.settings.window)
        self._in_a_row = 0  # steps that were not accepted
        self._smoothed: float | None = None  # mean of the accepted losses, the last 10 weighing most
        self._best: float | None = None  # of the smoothed losses
        self._above = 0  # accepted steps in a row with the smoothed loss far above its best

    def judge(self, loss: float, norm: float) -> Verdict:
        """Accept a step, or say what to do instead. An accepted step enters the window.

        Args:
            loss: nats per counted token of the whole step, over all ranks.
            norm: of the whole gradient, before clipping.
        """
        finite = math.isfinite(loss) and math.isfinite(norm)
        self.reason = self._fault(loss, norm)
        if self.reason:
            self._in_a_row += 1
            if self._in_a_row < self.settings.skips:
                return "skip"
            if not (finite and self.exhausted):
                return "roll_back"
            self._forget()
        self._in_a_row = 0
        self._losses.append(loss)
        self._norms.append(norm)
        self._follow(loss)
        if not self.settings.enabled or self._above < self.settings.rise_steps:
            return "ok"
        self.reason = (
            f"for {self._above} steps the smoothed loss, now {self._smoothed:.3f}, was more than "
            f"{self.settings.rise:g} above its best, {self._best:.3f}"
        )
        if not self.exhausted:
            return "roll_back"
        self._forget()
        return "ok"

    @property
    def exhausted(self) -> bool:
        """Whether no roll-back is left. Finite values are then a new kind of data to get used to."""
        return self.roll_backs >= self.settings.roll_backs

    @property
    def calm(self) -> bool:
        """Whether the state is one to come back to."""
        return self._in_a_row == 0 and self._above == 0

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "losses": list(self._losses),
            "norms": list(self._norms),
            "in_a_row": self._in_a_row,
            "smoothed": self._smoothed,
            "best": self._best,
            "above": self._above,
            "roll_backs": self.roll_backs,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._losses.clear()
        self._losses.extend(state["losses"])
        self._norms.clear()
        self._norms.extend(state["norms"])
        self._in_a_row, self._above = state["in_a_row"], state["above"]
        self._smoothed, self._best = state["smoothed"], state["best"]
        self.roll_backs = state["roll_backs"]

    def _fault(self, loss: float, norm: float) -> str:
        if not math.isfinite(loss):
            return f"the loss is {loss}"
        if not math.isfinite(norm):
            return f"the gradient norm is {norm}"
        if not self.settings.enabled or len(self._losses) < self.settings.warmup:
            return ""
        center = statistics.median(self._losses)
        deviation = MAD_TO_STD * statistics.median(abs(value - center) for value in self._losses)
        limit = center + self.settings.width * max(deviation, self.settings.floor * abs(center))
        if loss > limit:
            return f"the loss {loss:.3f} is above {limit:.3f}, the limit around the median {center:.3f}"
        usual = statistics.median(self._norms)
        if norm > self.settings.norm_factor * usual > 0:
            return f"the gradient norm {norm:.3g} is {norm / usual:.0f} times its median {usual:.3g}"
        return ""

    def _follow(self, loss: float) -> None:
        old = self._smoothed
        smoothed = loss if old is None else old + SMOOTHING * (loss - old)
        best = smoothed if self._best is None else min(self._best, smoothed)
        self._smoothed, self._best = smoothed, best
        self._above = self._above + 1 if smoothed > best + self.settings.rise else 0

    def _forget(self) -> None:
        self._losses.clear()
        self._norms.clear()
        self._smoothed = self._best = None
        self._above = 0
