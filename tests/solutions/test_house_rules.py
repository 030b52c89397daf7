"""What every week promises about its cells: short, readable in time, one formula and one number a reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jupytext
import pytest

from lmcourse.checks.quiz_format import load_quiz
from lmcourse.exercises import WEEKS, Week

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
LINES_IN_A_CELL = 15
CELLS_BEFORE_EXERCISES = 40
WORDS_IN_25_MINUTES = 25 * 225  # a calm reader of technical prose
WORDS_IN_A_PARAGRAPH = 100  # about five lines of a notebook
FOLDED = ("hint", "written")  # not read on the way through
HYPE = re.compile(
    r"\b(amazing|awesome|powerful|revolutionary|unlock|delve|leverage|seamless|game.?changer|simply|state.of.the.art"
    r"|cutting.edge|exciting)\b",
    re.IGNORECASE,
)
EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
REFERENCE = re.compile(r"(?<![\[\w.-])[A-Za-z][\w.-]*/[\w.-]+#\d+")


@cache
def cells(week_id: str) -> list:
    week = next(w for w in WEEKS if w.id == week_id)
    return jupytext.read(SOLUTIONS / f"{week.notebook}.py").cells


def role(cell) -> str:
    return cell.metadata.get("role", "prose")


def prose(week: Week) -> list[str]:
    return [c.source for c in cells(week.id) if c.cell_type == "markdown" and role(c) not in FOLDED]


def paragraphs(text: str) -> list[str]:
    """Running text only: no code blocks, tables, lists, headings or formulas."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$", "", text, flags=re.DOTALL)
    text = re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    return [p for p in re.split(r"\n\s*\n", text) if p.strip() and not re.match(r"\s*([|#-]|\d+\.)", p)]


weeks = pytest.mark.parametrize("week", WEEKS, ids=lambda w: w.id)


@weeks
def test_cells_are_short(week: Week) -> None:
    long = [
        (c.source.splitlines()[0], n)
        for c in cells(week.id)
        if c.cell_type == "code" and role(c) != "answer"
        if (n := sum(bool(line.strip()) for line in c.source.splitlines())) > LINES_IN_A_CELL
    ]
    assert not long


@weeks
def test_the_first_exercise_comes_soon(week: Week) -> None:
    first = next(i for i, c in enumerate(cells(week.id)) if "exercise" in c.metadata)
    assert first <= CELLS_BEFORE_EXERCISES


@weeks
def test_a_week_is_read_in_25_minutes(week: Week) -> None:
    text = re.sub(r"\(https?://\S+\)", "", "\n".join(prose(week)))
    assert len(re.findall(r"\w+", text)) <= WORDS_IN_25_MINUTES * 1.15  # \w+ also counts parts of formulas


@weeks
def test_paragraphs_are_short(week: Week) -> None:
    long = [p[:60] for text in prose(week) for p in paragraphs(text) if len(p.split()) > WORDS_IN_A_PARAGRAPH]
    assert not long


@weeks
def test_no_hype_and_no_emoji(week: Week) -> None:
    for cell in cells(week.id):
        assert not HYPE.search(cell.source), HYPE.search(cell.source)
        assert not EMOJI.search(cell.source)


@weeks
def test_each_reason_has_one_formula_and_one_worked_number(week: Week) -> None:
    for cell in cells(week.id):
        if role(cell) == "why":
            assert cell.source.count("$$") == 2, cell.source[:60]
            assert "**Worked number.**" in cell.source, cell.source[:60]


@weeks
def test_every_incident_is_a_link(week: Week) -> None:
    for text in prose(week):
        assert not REFERENCE.search(re.sub(r"https?://\S+", "", text)), text[:80]


@weeks
def test_quizzes_explain_every_option_and_do_not_favor_a_letter(week: Week) -> None:
    quiz = load_quiz(week.id)
    right = [key for q in quiz.questions for key, option in q.options.items() if option.right]
    assert len(set(right)) >= 3
    for question in quiz.questions:
        for option in question.options.values():
            assert len(option.feedback) >= 20, option.text
