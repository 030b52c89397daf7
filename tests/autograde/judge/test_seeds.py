import stat

import pytest

from autograde.judge.seeds import course_secret, exercise_seed, property_seed
from lmcourse.errors import CourseError


def test_seeds_are_the_same_again_and_differ_in_every_part():
    seeds = [
        exercise_seed("s", "ada", "W1.4"),
        exercise_seed("t", "ada", "W1.4"),
        exercise_seed("s", "bob", "W1.4"),
        exercise_seed("s", "ada", "W1.5"),
        exercise_seed("sa", "da", "W1.4"),
        exercise_seed("s", "\udc80", "W1.4"),
        property_seed(1, "a"),
        property_seed(1, "b"),
        property_seed(2, "a"),
    ]
    assert len(set(seeds)) == len(seeds) and all(0 <= seed < 2**63 for seed in seeds)
    assert exercise_seed("s", "ada", "W1.4") == seeds[0]


def test_the_secret_is_made_once_and_kept_private(tmp_path):
    course = tmp_path / "new" / "course"
    secret = course_secret(course)
    assert len(secret) == 64 and course_secret(course) == secret
    assert [p.name for p in course.iterdir()] == ["course_secret"]
    assert stat.S_IMODE((course / "course_secret").stat().st_mode) == 0o600


def test_an_empty_or_unreadable_secret_is_an_error_in_words(tmp_path):
    (tmp_path / "course_secret").write_text("\n")
    with pytest.raises(CourseError, match="empty"):
        course_secret(tmp_path)
    (tmp_path / "course_secret").write_bytes(b"\xff")
    with pytest.raises(CourseError, match="cannot read"):
        course_secret(tmp_path)
    with pytest.raises(CourseError, match="cannot read"):
        course_secret(tmp_path / "course_secret" / "below a file")
