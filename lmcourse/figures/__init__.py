"""House style for still figures, and pictures that carry their alt text into the notebook."""

from lmcourse.figures.picture import Picture, picture_of, show_figure
from lmcourse.figures.style import (
    DASHES,
    MARKERS,
    PALETTE,
    Palette,
    course_style,
    label_line_ends,
    reference_line,
)

__all__ = [
    "DASHES",
    "MARKERS",
    "PALETTE",
    "Palette",
    "Picture",
    "course_style",
    "label_line_ends",
    "picture_of",
    "reference_line",
    "show_figure",
]
