"""Pictures to play with. Each function returns a widget that shows itself in a notebook and works without
one.

The words of a picture come from the same model as its lines, everything can be reached with the keyboard,
and a still picture stands in wherever no kernel runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmcourse.widgets import denominator_slider, packing_viewer, waste_slider
from lmcourse.widgets.denominator_slider import denominator
from lmcourse.widgets.packing_viewer import packing
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.waste_slider import waste
from lmcourse.widgets.widget import CourseWidget, restored

DESIGNS = {
    design.kind: design for design in (packing_viewer.DESIGN, waste_slider.DESIGN, denominator_slider.DESIGN)
}


def from_state(state: Mapping[str, Any]) -> CourseWidget:
    """The widget that `.state()` described, with the same payload byte for byte.

    Raises:
        CourseError: the state is of another kind or version, or a setting in it is wrong.
    """
    return restored(DESIGNS, state)


__all__ = ["DESIGNS", "CourseWidget", "Payload", "denominator", "from_state", "packing", "waste"]
