"""Each file for another program, read back as that program reads it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
import small_course

from autograde.exports.canvas import canvas_csv
from autograde.exports.gradescope import results_json
from autograde.exports.moodle import moodle_csv
from autograde.exports.plain import marks_csv
from autograde.grading.settings import Late
from autograde.judge.verdict import PropertyResult, SubmissionVerdict, Verdict
from autograde.reports.rows import Row

WEEK = small_course.WEEK


def row(student, states=("right",) * 8, name="", late=None, message="", problem=""):
    verdicts = []
    for e, state in zip(WEEK.exercises, states, strict=True):
        points = {"right": float(e.points), "harness_fault": None}.get(state, e.points / 3)
        first = PropertyResult("adds", e.points * 2 / 3, state == "right", message, "B=2, seed 3")
        second = PropertyResult("another", e.points / 3, True)
        verdicts.append(Verdict(e.id, state, points, float(e.points), message, (first, second)))
    made = SubmissionVerdict(student, WEEK.id, tuple(verdicts), ("a cell was put back",), problem=problem)
    return Row(made, name, late or Late())


UNDECIDED = ("harness_fault",) + ("right",) * 7
CLASS = [
    row("11", name="=cmd|' /C calc'!A0"),
    row("12", states=("partly",) * 8, name='Nováková, "Jana"', late=Late(2, 18.0)),
    row("13", states=UNDECIDED, name="Petr"),
    row("ada"),
]


def read(raw, encoding="utf-8"):
    text = raw.decode(encoding)
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(cells) for cells in rows}) == 1, "every line has all columns"
    assert not any(cell.startswith(("=", "+", "-", "@")) for cells in rows for cell in cells)
    return rows


def test_canvas_finds_student_assignment_and_maximum():
    head, possible, *lines = read(canvas_csv(WEEK, CLASS))
    assert head[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"] and head[5].startswith(
        "W1 "
    )
    assert possible[0].strip() == "Points Possible" and float(possible[5]) == 90
    found = {line[1] or line[3]: line[5] for line in lines}
    assert found == {"11": "90", "12": "12", "13": "", "ada": "90"}
    assert lines[1][0] == 'Nováková, "Jana"' and lines[0][0].startswith("'=cmd")


def test_moodle_finds_participants_and_leaves_undecided_marks_empty():
    rows = list(csv.DictReader(io.StringIO(moodle_csv(WEEK, CLASS).decode("utf-8"))))
    assert {r["Identifier"]: r["Grade"] for r in rows} == {
        "Participant 11": "90", "Participant 12": "12", "Participant 13": "", "ada": "90",
    }  # fmt: skip
    assert {r["Maximum Grade"] for r in rows} == {"90"}
    assert "2 days late: 18 points less" in rows[1]["Feedback comments"]
    read(moodle_csv(WEEK, CLASS))


def test_the_plain_table_has_points_lateness_and_states():
    rows = list(csv.DictReader(io.StringIO(marks_csv(WEEK, CLASS).decode("utf-8-sig"))))
    assert [float(r["points"]) for r in rows] == [90, 12, 82, 90]
    assert (rows[1]["judged"], rows[1]["days late"], rows[1]["penalty"]) == ("30", "2", "18")
    assert rows[2]["W1.1 points"] == "" and rows[2]["W1.1 state"] == "harness_fault"
    read(marks_csv(WEEK, CLASS), "utf-8-sig")


@pytest.mark.parametrize("given", CLASS, ids=lambda r: r.student)
def test_gradescope_accepts_the_results(given):
    data = json.loads(results_json(given))
    assert data["score"] == pytest.approx(given.points) and 0 <= data["score"] <= 90
    assert data["visibility"] == "visible" and data["stdout_visibility"] == "hidden"
    scored = 0.0
    for test in data["tests"]:
        assert isinstance(test["name"], str) and isinstance(test["output"], str)
        assert test.get("status") in ("passed", "failed", None)
        if "score" in test:
            assert 0 <= test["score"] <= test["max_score"]
            scored += test["score"]
    assert scored == pytest.approx(given.verdict.points)
    w1_7 = [t for t in data["tests"] if t["name"].startswith("W1.7")]
    assert [t["name"] for t in w1_7] == ["W1.7"], "the wrong implementations are not listed"
    assert "Repaired: a cell was put back" in data["output"]


def test_what_is_not_decided_has_no_score_in_gradescope():
    data = json.loads(results_json(CLASS[2]))
    first = data["tests"][0]
    assert first["name"] == "W1.1" and "score" not in first and "status" not in first
    assert "Not decided yet" in data["output"] and data["score"] == 82


def test_control_characters_and_half_surrogates_break_no_file():
    evil = row("x\x1b[2J", name="\ud800\n", message="\x00</script>\ud800", states=("wrong",) * 8)
    unread = replace(evil, verdict=replace(evil.verdict, problem="a,\n=1"))
    for made in (canvas_csv, moodle_csv, marks_csv):
        read(made(WEEK, [evil, unread]), "utf-8-sig")
    json.loads(results_json(unread))
