"""Deadlines by the calendar and the wall clock, extensions, and what a settings file may say."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from autograde.grading.settings import load_settings
from lmcourse.errors import CourseError

PRAGUE = ZoneInfo("Europe/Prague")
TEXT = """
timezone = "Europe/Prague"
[late]
grace_minutes = 10
percent_per_day = 10
percent_at_most = 35
[due]
W1 = 2026-10-24T23:59:00
[extensions.ada]
W1 = 2
[extensions."[x]"]
W1 = 2026-11-01T12:00:00
[gradebook]
url = "postgresql+psycopg://grader:secret@db.example/course"
"""


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "grading.toml").write_text(TEXT)
    return load_settings(tmp_path)


def late(settings, student, *wall, fold=0):
    moment = datetime(2026, *wall, tzinfo=PRAGUE, fold=fold).timestamp()
    found = settings.late(student, "W1", moment, 90)
    return found.days, found.penalty


@pytest.mark.parametrize(
    ("wall", "days", "penalty"),
    [
        ((10, 24, 23, 59), 0, 0),
        ((10, 25, 0, 9), 0, 0),  # within the grace
        ((10, 25, 0, 10), 1, 9),
        ((10, 25, 23, 59), 1, 9),  # a day of 25 hours: the clocks go back on the 25th
        ((10, 26, 0, 30), 2, 18),
        ((12, 24, 0, 0), 60, 31.5),  # never more than 35 %
    ],
)  # fmt: skip
def test_a_day_ends_at_the_same_time_on_the_wall(settings, wall, days, penalty):
    assert late(settings, "ben", *wall) == (days, penalty)


def test_the_clock_change_in_spring_makes_no_hour_of_difference(tmp_path):
    (tmp_path / "grading.toml").write_text(
        'timezone = "Europe/Prague"\n[late]\npercent_per_day = 10\n[due]\nW1 = 2026-03-28T12:00:00\n'
    )
    settings = load_settings(tmp_path)
    assert late(settings, "ada", 3, 29, 12, 0) == (1, 9)  # 23 hours later
    assert late(settings, "ada", 3, 29, 12, 1) == (2, 18)


def test_extensions_are_days_or_a_time(settings):
    assert late(settings, "ada", 10, 26, 23, 59) == (0, 0)
    assert late(settings, "ada", 10, 27, 12, 0) == (1, 9)
    assert late(settings, "[x]", 11, 1, 12, 0) == (0, 0)
    assert late(settings, "[x]", 11, 1, 12, 11) == (1, 9)


def test_without_a_deadline_or_a_time_nothing_is_late(settings, tmp_path):
    assert settings.late("ben", "W0", 4e9, 10).penalty == 0
    assert settings.late("ben", "W1", 0, 10).days == 0
    assert load_settings(tmp_path / "nowhere").late("ben", "W1", 4e9, 10).days == 0


def test_a_password_is_never_printed(settings):
    assert settings.shown_url == "postgresql+psycopg://grader:***@db.example/course"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "there is no setting 'x'"),
        ("late = 3", "late must be a table"),
        ('timezone = "Mars"', "timezone 'Mars' is not known"),
        ("[late]\npercent_per_day = 101", r"late.percent_per_day must be a number in 0..100"),
        ("[late]\ngrace_minutes = true", "late.grace_minutes must be a number"),
        ("[due]\nW99 = 2026-10-24T23:59:00", "there is no week 'W99'"),
        ("[due]\nW1 = 2026-10-24", "due.W1 must be a date and time without zone"),
        ("[due]\nW1 = 2026-10-24T23:59:00Z", "without zone"),
        ("[extensions]\nada = 3", "extensions.ada must be a table"),
        ("[extensions.ada]\nW1 = -1", "extensions.ada.W1 must be days"),
        ("[gradebook]\nurl = 3", "gradebook.url must be a text"),
        ("[", "cannot be read"),
    ],
)
def test_what_has_no_meaning_is_named(tmp_path, text, words):
    (tmp_path / "grading.toml").write_text(text)
    with pytest.raises(CourseError, match=words) as info:
        load_settings(tmp_path)
    assert "grading.toml" in str(info.value) and "\n" not in str(info.value)
