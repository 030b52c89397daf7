"""The form of `lmcourse/checks/quizzes/W1.json`, and its reader.

    {"format": 1, "week": "W1", "pretest": false, "questions": [
      {"question": "How many predictions ...?",
       "options": {"a": {"text": "...", "right": false, "feedback": "..."},
                   "b": {"text": "...", "right": true, "feedback": "..."}}}]}

Texts are markdown (with `$...$` formulas). Exactly one option of a question is right; each has its
feedback. A question is known by its place, from 1. `pretest` is true for questions whose answers are stored
without feedback.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from lmcourse import exercises
from lmcourse.errors import CourseError

FORMAT = 1


@dataclass(frozen=True)
class Option:
    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Question:
    question: str
    options: dict[str, Option]


@dataclass(frozen=True)
class Quiz:
    week: str
    questions: tuple[Question, ...]
    pretest: bool = False


def parse_quiz(text: str) -> Quiz:
    """A quiz from its JSON text.

    Raises:
        ValueError: another format, or a question that has not exactly one right option, with its number.
    """
    data = json.loads(text)
    if data.get("format") != FORMAT:
        raise ValueError(f"quiz of format {data.get('format')!r}; this version reads format {FORMAT}")
    questions = []
    for number, entry in enumerate(data["questions"], 1):
        options = {key: Option(**option) for key, option in entry["options"].items()}
        right = [key for key, option in options.items() if option.right]
        if len(right) != 1 or len(options) < 2:
            raise ValueError(
                f"question {number} of {data['week']} has {len(options)} options, {len(right)} right"
            )
        questions.append(Question(entry["question"], options))
    return Quiz(data["week"], tuple(questions), data.get("pretest", False))


def load_quiz(week_id: str) -> Quiz:
    """The quiz of a week.

    Raises:
        CourseError: no such week, or the week has no quiz.
    """
    week = exercises.week(week_id)
    path = files("lmcourse.checks").joinpath("quizzes", f"{week.id}.json")
    if not path.is_file():
        raise CourseError(f"week {week.id} has no quiz")
    return parse_quiz(path.read_text("utf-8"))
