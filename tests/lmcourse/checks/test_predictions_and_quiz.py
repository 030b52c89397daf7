"""Predictions and quiz answers: shown, kept beside the notebook, never in the way."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lmcourse.checks import predict, quiz
from lmcourse.checks.notes import stored_predictions
from lmcourse.checks.quiz_format import Quiz, parse_quiz
from lmcourse.errors import CourseError

QUESTION = "How many True values has the mask of two documents of 3 and 2 tokens?"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)


def small_quiz(pretest: bool = False) -> Quiz:
    text = {
        "format": 1,
        "week": "W1",
        "pretest": pretest,
        "questions": [
            {
                "question": "What is $T$?",
                "options": {
                    "a": {"text": "length", "right": True, "feedback": "Tokens in a row."},
                    "b": {"text": "time", "right": False, "feedback": "No clock here."},
                },
            },
            {
                "question": "And `B`?",
                "options": {
                    "a": {"text": "bytes", "right": False, "feedback": "Rows, not bytes."},
                    "b": {"text": "rows", "right": True, "feedback": "Rows of a batch."},
                },
            },
        ],
    }
    return parse_quiz(json.dumps(text))


@pytest.fixture
def week_quiz(monkeypatch: pytest.MonkeyPatch):
    import sys

    def use(pretest: bool = False):
        monkeypatch.setattr(
            sys.modules["lmcourse.checks.quiz"], "load_quiz", lambda week: small_quiz(pretest)
        )

    use()
    return use


def test_a_prediction_is_asked_for_stored_and_shown_again(capsys):
    predict("W1.4", QUESTION)
    assert QUESTION in capsys.readouterr().out and not Path(".lmcourse").exists()
    predict("w1.4", QUESTION, 9)
    assert "> 9" in capsys.readouterr().out
    predict("W1.4", QUESTION)
    assert "> 9" in capsys.readouterr().out


def test_every_answer_is_kept_and_the_first_one_counts():
    for answer in ("9", "9", "11", "9"):
        predict("W1.4", QUESTION, answer)
    predict("W1.3", "Rows?", "2")
    data = json.loads(Path(".lmcourse/predictions.json").read_text("utf-8"))
    assert [entry["answer"] for entry in data["W1.4"][QUESTION]] == ["9", "11", "9"]
    (prediction,) = stored_predictions("W1.4")
    assert (prediction.question, prediction.answer) == (QUESTION, "9")


def test_an_unreadable_file_is_set_aside_and_not_lost(capsys):
    Path(".lmcourse").mkdir()
    Path(".lmcourse/predictions.json").write_text('{"W1.4": {"cut off', "utf-8")
    assert stored_predictions("W1.4") == ()
    predict("W1.4", QUESTION, "9")
    assert stored_predictions("W1.4")[0].answer == "9"
    assert "cut off" in Path(".lmcourse/predictions.unreadable-1.json").read_text("utf-8")


@pytest.mark.parametrize("content", ["[]", '{"W1.4": 3}', '{"W1.4": {"q": [1, {"answer": 2}]}}', "\x00"])
def test_a_file_of_another_form_breaks_nothing(content):
    Path(".lmcourse").mkdir()
    Path(".lmcourse/predictions.json").write_text(content, "utf-8")
    stored_predictions("W1.4")
    predict("W1.4", QUESTION, "9")
    assert "9" in [p.answer for p in stored_predictions("W1.4")]


def test_a_folder_that_cannot_be_written_is_said_in_words(capsys, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("lmcourse.checks.notes.tempfile.mkstemp", refuse)
    predict("W1.4", QUESTION, "9")
    out = capsys.readouterr().out
    assert "> 9" in out and "not stored: Permission denied" in out


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_a_read_only_folder(capsys, tmp_path):
    tmp_path.chmod(0o555)
    predict("W1.4", QUESTION, "9")
    tmp_path.chmod(0o755)
    assert "not stored" in capsys.readouterr().out


def test_a_crash_while_writing_leaves_the_old_file(monkeypatch):
    predict("W1.4", QUESTION, "9")

    def crash(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lmcourse.checks.notes.os.fsync", crash)
    predict("W1.4", QUESTION, "11")
    assert [p.answer for p in stored_predictions("W1.4")] == ["9"]
    assert os.listdir(".lmcourse") == ["predictions.json"]


def test_quiz_shows_questions_and_feedback_and_keeps_answers(week_quiz, capsys):
    quiz("W1")
    out = capsys.readouterr().out
    assert "Question 1 of 2" in out and "Question 2 of 2" in out and "Tokens in a row" not in out
    quiz("W1", 1)
    assert "**a** length" in capsys.readouterr().out
    quiz("W1", 1, " B ")
    assert "Not right.** No clock here." in capsys.readouterr().out
    quiz("W1", 1, "a")
    assert "Right.** Tokens in a row." in capsys.readouterr().out
    data = json.loads(Path(".lmcourse/quiz.json").read_text("utf-8"))
    assert [(e["option"], e["right"]) for e in data["W1"]["1"]] == [("b", False), ("a", True)]
    quiz("W1", 1)
    assert "You chose **a**" in capsys.readouterr().out


def test_a_pretest_stores_without_feedback(week_quiz, capsys):
    week_quiz(pretest=True)
    quiz("W1", 2, "a")
    out = capsys.readouterr().out
    assert "stored" in out and "Rows, not bytes" not in out and "ight." not in out
    data = json.loads(Path(".lmcourse/quiz.json").read_text("utf-8"))
    assert "right" not in data["W1"]["2"][0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("W1", 3), "questions 1 to 2, not 3"),
        (("W1", 0), "not 0"),
        (("W1", "2"), "not '2'"),
        (("W1", True), "not True"),
        (("W1", 1, "c"), "has the options a, b, not 'c'"),
    ],
)
def test_what_a_quiz_does_not_have_is_one_line(week_quiz, arguments, words):
    with pytest.raises(CourseError) as caught:
        quiz(*arguments)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_unknown_weeks_and_exercises_are_one_line():
    for call in (lambda: quiz("W77"), lambda: predict("W1.44", "?"), lambda: predict("", "?")):
        with pytest.raises(CourseError) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("right", [[], ["a", "b"]])
def test_a_question_needs_one_right_option(right):
    options = {key: {"text": "t", "right": key in right, "feedback": "f"} for key in "ab"}
    text = json.dumps({"format": 1, "week": "W1", "questions": [{"question": "?", "options": options}]})
    with pytest.raises(ValueError, match="question 1 of W1"):
        parse_quiz(text)
