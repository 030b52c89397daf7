"""The fixed order of cells: what is added, and which sources are refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autograde.build.anatomy import check_anatomy, with_generated
from lmcourse.errors import CourseError
from lmcourse.exercises import Exercise, Week


def _roles(week, cells, exercise):
    return [cell.role for cell in with_generated(week, cells) if cell.exercise == exercise]


def test_generated_cells_stand_in_the_anatomy_of_the_course(week, cells_of, text):
    cells = cells_of(text)
    check_anatomy(week, cells)
    full = [
        "title",
        "why",
        "contract",
        "answer",
        "predict",
        "check",
        "hint",
        "hint",
        "hint",
        "grade",
        "after",
    ]
    assert _roles(week, cells, "W0.1") == full
    assert _roles(week, cells, "W0.2") == [role for role in full if role != "predict"]


def test_the_check_comes_after_the_last_of_several_answer_cells(week, cells_of, text):
    second = '# %% exercise="W0.2" role="answer"\n### BEGIN SOLUTION\nlimit = 3\n### END SOLUTION\n\n'
    cells = cells_of(_insert_before(text, 'exercise="W0.2" role="hint"', second))
    assert _roles(week, cells, "W0.2")[3:6] == ["answer", "answer", "check"]


def test_cells_without_a_place_in_the_anatomy_stay_where_they_are(week, cells_of, text):
    show = '# %% role="show"\nprint("a picture")\n\n'
    cells = cells_of(_insert_before(text, 'exercise="W0.2" role="after"', show))
    built = list(with_generated(week, cells))
    place = next(i for i, cell in enumerate(built) if cell.role == "show")
    assert (built[place - 1].role, built[place + 1].role) == ("grade", "after")


@pytest.mark.parametrize(
    ("mark", "reason"),
    [
        ('exercise="W0.2" role="why"', "W0.2 has no 'why' cell"),
        ('exercise="W0.2" role="contract"', "W0.2 has no 'contract' cell"),
        ('exercise="W0.1" role="answer"', "W0.1 has no 'answer' cell"),
        ('exercise="W0.1" role="after"', "W0.1 has no 'after' cell"),
        ('exercise="W0.1" role="hint"', "W0.1 has 2 hints; it needs 3"),
    ],
)
def test_an_exercise_that_lacks_a_cell_is_refused(week, cells_of, text, mark, reason):
    with pytest.raises(CourseError, match=re.escape(reason)):
        check_anatomy(week, cells_of(_without(text, mark)))


@pytest.mark.parametrize("role", ["why", "contract", "after"])
def test_a_second_cell_of_a_kind_that_comes_once_is_refused(week, cells_of, text, role):
    mark = f'# %% [markdown] exercise="W0.1" role="{role}"'
    with pytest.raises(CourseError, match=f"W0.1 has 2 '{role}' cell"):
        check_anatomy(week, cells_of(text.replace(mark, f"{mark}\n# Once more.\n\n{mark}")))


def test_a_missing_exercise_is_refused(week, cells_of, text):
    while "W0.2" in text:
        text = _without(text, 'exercise="W0.2"')
    with pytest.raises(CourseError, match=r"exercise W0\.2 is missing"):
        check_anatomy(week, cells_of(text))


def test_an_unknown_exercise_is_refused(week, cells_of, text):
    cells = cells_of(text.replace('exercise="W0.2"', 'exercise="W0.3"'))
    with pytest.raises(CourseError, match=r"exercise 'W0\.3' is not in the registry's week W0"):
        check_anatomy(week, cells)


def test_an_exercise_that_comes_twice_is_refused(week, cells_of, text):
    again = '\n# %% [markdown] exercise="W0.1" role="after"\n# Again.\n'
    with pytest.raises(CourseError, match=r"W0\.1 comes twice"):
        check_anatomy(week, cells_of(text + again))


def test_exercises_in_another_order_than_the_registry_are_refused(week, cells_of, text):
    turned = replace(week, exercises=week.exercises[::-1])
    with pytest.raises(CourseError, match=r"come as W0\.1, W0\.2; the registry's order is W0\.2, W0\.1"):
        check_anatomy(turned, cells_of(text))


def test_a_cell_out_of_order_is_refused(week, cells_of, text):
    late = '# %% [markdown] exercise="W0.1" role="why"\n# Late.\n\n'
    cells = cells_of(_insert_before(text, 'exercise="W0.1" role="after"', late))
    with pytest.raises(
        CourseError, match="the 'why' cell comes too late; the order is why, contract, answer"
    ):
        check_anatomy(week, cells)


def test_a_written_part_follows_the_registry(cells_of, text):
    only = Exercise("W0.1", "Say", "N+W", 1, 10, False, 1, ("hello_check",), written_points=4)
    week = Week("W0", "start", "Start", 0, 10, (only,))
    text = text.partition("# %% [markdown]\n# Between")[0]
    with pytest.raises(CourseError, match=r"W0\.1 has no 'question' cell\(s\)"):
        check_anatomy(week, cells_of(text))
    written = (
        '# %% [markdown] exercise="W0.1" role="question"\n# Why?\n\n'
        '# %% [markdown] exercise="W0.1" role="written"\n# Because.\n\n'
    )
    text = _insert_before(text, 'exercise="W0.1" role="after"', written)
    check_anatomy(week, cells_of(text))
    assert _roles(week, cells_of(text), "W0.1")[-4:] == ["grade", "question", "written", "after"]
    unpaid = replace(week, exercises=(replace(only, written_points=0),))
    with pytest.raises(CourseError, match="has a written part, but the registry gives it no written points"):
        check_anatomy(unpaid, cells_of(text))


def _without(text: str, mark: str) -> str:
    """The source without the first cell whose head holds `mark`."""
    cells = re.split(r"(?m)^(?=# %%)", text)
    place = next(i for i, cell in enumerate(cells) if mark in cell.splitlines()[0])
    return "".join(cells[:place] + cells[place + 1 :])


def _insert_before(text: str, mark: str, cell: str) -> str:
    cells = re.split(r"(?m)^(?=# %%)", text)
    place = next(i for i, c in enumerate(cells) if mark in c.splitlines()[0])
    return "".join([*cells[:place], cell, *cells[place:]])
