"""A widget as Python sees it: settings, payload, still picture, saved state; the browser's part is
optional."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lmcourse.errors import CourseError
from lmcourse.figures import PALETTE, Picture, picture_of
from lmcourse.widgets.controls import Control, checked, clamped
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.text import Strings, strings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lmcourse.widgets.stage import Stage

STATE_VERSION = 1


@dataclass(frozen=True)
class Design:
    """One kind of widget: what can be set, what is drawn, and three experiments to try."""

    kind: str
    controls: tuple[Control, ...]
    experiments: tuple[Mapping[str, Any], ...]
    describe: Callable[[Mapping[str, Any], Strings], Payload]
    draw: Callable[[Payload, Strings], Figure]

    def spec(self, language: str) -> dict[str, Any]:
        """What the front end needs to build the controls and to draw, as JSON."""
        return {
            "kind": self.kind,
            "language": language,
            "controls": [control.described() for control in self.controls],
            "experiments": [dict(experiment) for experiment in self.experiments],
            "text": strings(language, self.kind),
            "palettes": {theme: asdict(palette) for theme, palette in PALETTE.items()},
        }


class CourseWidget:
    """A widget of the course. As the last line of a cell it shows itself; without a browser all the rest
    works."""

    def __init__(self, design: Design, params: Mapping[str, Any], language: str = "en") -> None:
        self.design = design
        self.language = language
        self._text = strings(language, design.kind)
        self._params = dict(params)
        self._stage: Stage | None = None

    @classmethod
    def with_settings(cls, design: Design, settings: Mapping[str, Any], language: str) -> CourseWidget:
        """A widget with these settings, defaults for the rest.

        Raises:
            CourseError: an unknown setting, a value outside its limits, or an unknown language.
        """
        return cls(design, checked(design.controls, settings), language)

    @property
    def params(self) -> dict[str, Any]:
        """The settings now: as given, or as the learner left the controls."""
        live = self._stage.params if self._stage is not None else self._params
        return clamped(self.design.controls, live)

    def update(self, **settings: Any) -> None:
        """Change settings from Python; a widget on the screen follows.

        Raises:
            CourseError: as for the function that made the widget. Nothing is changed then.
        """
        self._params = checked(self.design.controls, self.params | settings)
        if self._stage is not None:
            self._stage.params = self._params

    @property
    def payload(self) -> Payload:
        """What is drawn with the settings of now."""
        return self.design.describe(self.params, self._text)

    def still(self) -> Picture:
        """The picture of now, without controls, with its alt text and caption."""
        payload = self.payload
        return picture_of(self.design.draw(payload, self._text), payload.alt, payload.caption)

    def state(self) -> dict[str, Any]:
        """Settings, kind and language as plain JSON; `lmcourse.widgets.from_state` makes the widget again."""
        return {
            "widget": self.design.kind,
            "version": STATE_VERSION,
            "language": self.language,
            "params": self.params,
        }

    def __repr__(self) -> str:
        params = self.params
        changed = [
            f"{control.name}={params[control.name]!r}"
            for control in self.design.controls
            if params[control.name] != control.default
        ]
        return f"lmcourse.widgets.{self.design.kind}({', '.join(changed)})"

    def _ipython_display_(self) -> None:
        from lmcourse.widgets.stage import show

        self._params = self.params
        self._stage = show(self.design, self._params, self.language, self.still())


def restored(designs: Mapping[str, Design], state: Mapping[str, Any]) -> CourseWidget:
    """The widget that a state describes.

    Raises:
        CourseError: the state is of another kind or version, or a setting in it is wrong.
    """
    missing = [key for key in ("widget", "version", "language", "params") if key not in state]
    if missing:
        raise CourseError(f"state: {', '.join(missing)} missing; pass what .state() returned")
    if state["widget"] not in designs:
        raise CourseError(f"state: no widget is called {state['widget']!r}; there are {', '.join(designs)}")
    if state["version"] != STATE_VERSION:
        raise CourseError(f"state: version {state['version']!r} unknown; this package reads {STATE_VERSION}")
    return CourseWidget.with_settings(designs[state["widget"]], state["params"], state["language"])
