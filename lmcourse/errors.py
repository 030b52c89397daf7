"""The one exception that stands for a user's mistake."""


class CourseError(Exception):
    """Something the user gave is wrong; the message is one line: what, where, and what to do.

    Command lines print the message without a traceback and exit with status 2.
    """

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of a traceback (IPython asks exceptions for it)."""
        return [f"lmcourse: {self}"]
