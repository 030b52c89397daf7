"""A still picture for the notebook: a PNG on an opaque white card, with its alt text and a caption."""

from __future__ import annotations

import base64
import html
import io
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmcourse.errors import CourseError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARPNESS = 2  # device pixels for each CSS pixel, so that the picture stays crisp on a sharp screen
CARD = (
    "display:inline-block;max-width:100%;box-sizing:border-box;margin:0;padding:8px;"
    "background:#ffffff;color:#1f1f1f;border-radius:4px"
)
CAPTION = "margin-top:4px;font-size:13px;line-height:1.4;max-width:68em"


@dataclass(frozen=True)
class Picture:
    """A rendered figure. Notebooks show `html()`; text front ends show the alt text."""

    png: bytes
    width: int  # CSS pixels
    height: int  # CSS pixels
    alt: str
    caption: str = ""

    def html(self, classes: str = "lmcourse-still") -> str:
        """The picture as one self-contained HTML `<figure>`; needs no network."""
        data = base64.b64encode(self.png).decode("ascii")
        caption = (
            f'<figcaption style="{CAPTION}">{html.escape(self.caption)}</figcaption>' if self.caption else ""
        )
        return (
            f'<figure class="{classes}" style="{CARD}">'
            f'<img src="data:image/png;base64,{data}" alt="{html.escape(self.alt, quote=True)}" '
            f'width="{self.width}" height="{self.height}" style="max-width:100%;height:auto;display:block">'
            f"{caption}</figure>"
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.alt}


def picture_of(fig: Figure, alt: str, caption: str = "") -> Picture:
    """Render a matplotlib figure once, at two device pixels for each CSS pixel; the figure stays open.

    `alt` says what a reader who does not see the picture needs: the kind of figure, what against what, what
    each series does, and the one thing to notice.

    Raises:
        CourseError: the alt text is empty.
    """
    if not alt.strip():
        raise CourseError("alt is empty; say in words what the figure shows, for readers who cannot see it")
    width, height = (round(inches * 100) for inches in fig.get_size_inches())
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=100 * SHARPNESS, bbox_inches=None, metadata={"Software": None})
    return Picture(buffer.getvalue(), width, height, alt.strip(), caption.strip())


def show_figure(fig: Figure, alt: str, caption: str = "") -> Picture | None:
    """Show a matplotlib figure with its alt text and a caption, and close it.

    In a notebook the picture appears on an opaque white card, the same in the light and the dark theme;
    nothing is returned, so the last line of a cell does not show it twice. Without IPython the `Picture` is
    returned, with its `.png` bytes.

    Raises:
        CourseError: the alt text is empty.
    """
    picture = picture_of(fig, alt, caption)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(fig)
    if not in_notebook():
        return picture
    from IPython.display import display

    display(picture)
    return None


def in_notebook() -> bool:
    """Whether an IPython session is there to display things; never imports IPython itself."""
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None
