"""What can be set in a widget: one description for browser, arguments and saved states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lmcourse.errors import CourseError

TEXT_LIMIT = 400  # characters in a text field


@dataclass(frozen=True)
class Control:
    """One setting.

    Kinds: `range` (slider with a number field beside it), `number`, `seed` (number with a button for the next
    one), `select`, `check`, `text`, `set` (several of the options). `log` sliders move in equal ratios.
    """

    name: str
    kind: Literal["range", "number", "seed", "select", "check", "text", "set"]
    default: Any
    low: float = 0
    high: float = 0
    step: float = 1  # 1 means whole numbers
    log: bool = False
    options: tuple[str, ...] = ()
    label: str = ""  # key of the text table; the name where empty
    panel: str = "main"

    @property
    def whole(self) -> bool:
        return self.step == int(self.step)

    def checked(self, value: Any) -> Any:
        """The value in its own type.

        Raises:
            CourseError: it has the wrong type or lies outside the limits.
        """
        if self.kind in ("range", "number", "seed"):
            return self._number(value)
        if self.kind == "set":
            return self._subset(value)
        fits = {
            "check": isinstance(value, bool),
            "text": isinstance(value, str) and len(value) <= TEXT_LIMIT,
            "select": value in self.options,
        }
        if not fits[self.kind]:
            wanted = {
                "check": "True or False",
                "text": f"text of at most {TEXT_LIMIT} characters",
                "select": " or ".join(map(repr, self.options)),
            }
            raise CourseError(f"{self.name}: expected {wanted[self.kind]}, got {value!r:.60}")
        return value

    def _number(self, value: Any) -> float | int:
        try:
            number = math.nan if isinstance(value, (bool, str)) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not self.low <= number <= self.high or (self.whole and number != int(number)):
            kind = "a whole number" if self.whole else "a number"
            limits = f"from {self.low:g} to {self.high:g}"
            raise CourseError(f"{self.name}: expected {kind} {limits}, got {value!r:.60}")
        return int(number) if self.whole else number

    def _subset(self, value: Any) -> list[str]:
        if isinstance(value, str) or not isinstance(value, Sequence) or set(value) - set(self.options):
            wanted = ", ".join(map(repr, self.options))
            raise CourseError(f"{self.name}: expected a list out of {wanted}, got {value!r:.60}")
        return [option for option in self.options if option in value]

    def clamped(self, value: Any) -> Any:
        """The nearest allowed value, for settings from a browser; the default where there is none."""
        if isinstance(value, (int, float)) and self.kind in ("range", "number", "seed"):
            if not math.isfinite(value):
                return self.default
            near = min(max(value, self.low), self.high)
            return int(near + 0.5) if self.whole else float(near)
        try:
            return self.checked(value)
        except CourseError:
            return self.default

    def described(self) -> dict[str, Any]:
        """The control as JSON for the front end."""
        return asdict(self)


def checked(controls: Sequence[Control], settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, defaults where none is given.

    Raises:
        CourseError: an unknown setting, or a value that its control does not take.
    """
    names = [control.name for control in controls]
    for name in settings:
        if name not in names:
            raise CourseError(f"{name}: there is no such setting; the settings are {', '.join(names)}")
    return {c.name: c.checked(settings[c.name]) if c.name in settings else c.default for c in controls}


def clamped(controls: Sequence[Control], settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, each moved into its limits; never raises."""
    return {c.name: c.clamped(settings.get(c.name, c.default)) for c in controls}
