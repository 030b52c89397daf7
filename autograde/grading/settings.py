"""`grading.toml` in the course folder: deadlines, extensions, the late policy, and where the gradebook is.

    timezone = "Europe/Prague"

    [late]
    grace_minutes = 10          # nothing is lost within these
    percent_per_day = 10        # of the week's maximum, for each day that has begun
    percent_at_most = 50

    [due]
    W1 = 2026-10-05T23:59:00    # the time on the wall

    [extensions.ada]
    W1 = 3                      # days, or another date and time

    [gradebook]
    url = "postgresql+psycopg://grader@db.example/course"

Everything may be absent: then nothing is late, and the gradebook is `gradebook.db` in the course folder.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from lmcourse import exercises as registry
from lmcourse.errors import CourseError

FILE = "grading.toml"
KNOWN = {"timezone", "late", "due", "extensions", "gradebook"}
LATE = {"grace_minutes": 0.0, "percent_per_day": 0.0, "percent_at_most": 100.0}


@dataclass(frozen=True)
class Late:
    """How late a submission is: days that have begun since it was due, and the points that this costs."""

    days: int = 0
    penalty: float = 0.0


NOT_LATE = Late()


@dataclass(frozen=True)
class Settings:
    """What `grading.toml` says. Dates are times on the wall in `zone`; extensions are days or dates."""

    zone: tzinfo = UTC
    grace_minutes: float = 0.0
    percent_per_day: float = 0.0
    percent_at_most: float = 100.0
    due: dict[str, datetime] = field(default_factory=dict)
    extensions: dict[str, dict[str, int | datetime]] = field(default_factory=dict)
    gradebook_url: str = ""

    @property
    def shown_url(self) -> str:
        """The gradebook's address as messages print it: without a password."""
        return re.sub(r"(//[^:/@]*):[^@]*@", r"\1:***@", self.gradebook_url)

    def due_for(self, student: str, week: str) -> datetime | None:
        """The student's own deadline on the wall (without zone), or None."""
        due = self.due.get(week)
        extension = self.extensions.get(student, {}).get(week)
        if isinstance(extension, datetime):
            return extension
        return due + timedelta(days=extension) if due is not None and extension else due

    def late(self, student: str, week: str, handed_in: float, maximum: float) -> Late:
        """How late is what was handed in at this moment (seconds since 1970; 0: unknown, so not late)?

        A day ends at the same time on the wall as the deadline, also where the clocks change in between.
        """
        due = self.due_for(student, week)
        if due is None or not handed_in:
            return NOT_LATE
        moment = datetime.fromtimestamp(handed_in, UTC) - timedelta(minutes=self.grace_minutes)
        days = 0
        while days < 10_000 and moment > self.moment(due + timedelta(days=days)):
            days += 1
        percent = min(days * self.percent_per_day, self.percent_at_most)
        return Late(days, round(maximum * percent / 100, 6))

    def moment(self, wall: datetime) -> datetime:
        """A time on the wall as a moment; of an hour that comes twice, the later one."""
        return wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC)


def load_settings(course: Path) -> Settings:
    """The settings of a course folder.

    Raises:
        CourseError: the file cannot be read, or says something that has no meaning; names the key.
    """
    path = course / FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {error}") from None

    def refuse(what: str) -> CourseError:
        return CourseError(f"{path}: {what}")

    unknown = sorted(set(data) - KNOWN)
    if unknown:
        raise refuse(f"there is no setting {unknown[0]!r}; known are {', '.join(sorted(KNOWN))}")
    for table in KNOWN - {"timezone"}:
        if not isinstance(data.get(table, {}), dict):
            raise refuse(f"{table} must be a table, [{table}]")
    try:
        zone = ZoneInfo(data["timezone"]) if "timezone" in data else UTC
    except (ValueError, TypeError, OSError, KeyError):
        raise refuse(f"timezone {data['timezone']!r} is not known; write one as 'Europe/Prague'") from None
    late = _numbers(data.get("late", {}), refuse)
    due = {
        _week(week, refuse): _wall(value, f"due.{week}", refuse)
        for week, value in data.get("due", {}).items()
    }
    extensions = {}
    for student, weeks in data.get("extensions", {}).items():
        if not isinstance(weeks, dict):
            raise refuse(f"extensions.{student} must be a table with a line for each week")
        extensions[student] = {_week(w, refuse): _extension(v, student, w, refuse) for w, v in weeks.items()}
    url = data.get("gradebook", {}).get("url", "")
    if not isinstance(url, str):
        raise refuse("gradebook.url must be a text")
    return Settings(zone, **late, due=due, extensions=extensions, gradebook_url=url)


def _numbers(table: dict[str, Any], refuse: Any) -> dict[str, float]:
    unknown = sorted(set(table) - set(LATE))
    if unknown:
        raise refuse(f"there is no setting late.{unknown[0]}; known are {', '.join(LATE)}")
    for key, value in table.items():
        most = 100 if key.startswith("percent") else 24 * 60
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise refuse(f"late.{key} must be a number in 0..{most}, but is {value!r}")
    return {key: float(table.get(key, default)) for key, default in LATE.items()}


def _week(week: str, refuse: Any) -> str:
    try:
        return registry.week(week).id
    except CourseError as error:
        raise refuse(str(error)) from None


def _wall(value: Any, key: str, refuse: Any) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is not None:
        raise refuse(f"{key} must be a date and time without zone, as 2026-10-05T23:59:00, but is {value!r}")
    return value


def _extension(value: Any, student: str, week: str, refuse: Any) -> int | datetime:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 3650:
        return value
    if isinstance(value, datetime):
        return _wall(value, f"extensions.{student}.{week}", refuse)
    raise refuse(f"extensions.{student}.{week} must be days (0..3650) or a date and time, but is {value!r}")
