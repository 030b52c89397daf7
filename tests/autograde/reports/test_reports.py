import csv
import html.parser
import io
from dataclasses import replace

import pytest
import small_course
from rich.console import Console

from autograde.exports.plain import marks_csv
from autograde.judge.score import NOT_DECIDED
from autograde.judge.verdict import PropertyResult, SubmissionVerdict, Verdict
from autograde.reports.class_page import class_page
from autograde.reports.class_table import class_table
from autograde.reports.rows import Row
from autograde.reports.student_page import student_page
from autograde.reports.write import write_reports

WEEK = small_course.WEEK
EVIL = "<script>alert(1)</script>\"'&\x1b[2J\ud800"
STATES = [
    "right",
    "partly",
    "wrong",
    "student_error",
    "time_out",
    "not_attempted",
    "right",
    "infrastructure_fault",
]


def submission(student, states=STATES, message="", **changes):
    verdicts = []
    for e, state in zip(WEEK.exercises, states, strict=True):
        points = {"right": float(e.points), "partly": e.points / 3, "infrastructure_fault": None}.get(
            state, 0.0
        )
        properties = (
            PropertyResult("adds", e.points - 1, state == "right", message, "B=2, seed 3",
                           "minus" if state == "wrong" else ""),
            PropertyResult("another", 1, state in ("right", "partly")),
        )  # fmt: skip
        verdicts.append(Verdict(e.id, state, points, float(e.points), message, properties))
    made = SubmissionVerdict(student, WEEK.id, tuple(verdicts), cpu_seconds=1.5, peak_bytes=2**28, **changes)
    return Row(made)


class Strict(html.parser.HTMLParser):
    """Collects texts and tags, and insists that tags are closed in order."""

    VOID = ("meta", "br")

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(page.decode("utf-8"))
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert not any(name.startswith("on") or name == "src" for name, _ in attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_students_page_tells_state_points_reason_and_case():
    page = Strict(student_page(submission("ada", message="You subtract.", repairs=("a cell was put back",))))
    for words in (
        "W1 Batches, packing and document masks", "ada", "8 of 8", "took too long", "not attempted",
        "You subtract.", "smallest failing case: B=2, seed 3", "does not hold", "holds",
        "a cell was put back", "Not decided yet", "W1.8", "10 more points for written answers",
    ):  # fmt: skip
        assert words in page.text, words


def test_what_was_never_decided_counts_for_no_pass_rate_and_is_no_failure():
    properties = (
        PropertyResult("adds", 7, False, "took more than 5 s"),
        PropertyResult("another", 1, False, NOT_DECIDED),
    )
    made = submission("ada").verdict
    ended = replace(made.verdicts[0], state="time_out", points=0.0, properties=properties)
    other = replace(made.verdicts[0], properties=(PropertyResult("another", 1, True),))
    first = replace(made, verdicts=(ended, *made.verdicts[1:]))
    second = replace(made, student="ben", verdicts=(other, *made.verdicts[1:]))
    assert "another1 of 1100%" in Strict(class_page(WEEK, [Row(first), Row(second)], str)).text
    assert NOT_DECIDED in Strict(student_page(Row(first))).text
    assert f"does not hold{NOT_DECIDED}" not in Strict(student_page(Row(first))).text


def test_a_write_a_test_exercise_does_not_list_the_wrong_implementations():
    states = ["right"] * 6 + ["partly", "right"]
    page = Strict(student_page(submission("ada", states, message="Your test finds 2 of 3.")))
    section = page.text.rpartition("W1.7")[2].partition("W1.8")[0]
    assert "finds 2 of 3" in section and "another" not in section


@pytest.mark.parametrize(
    "make", [student_page, lambda s: class_page(WEEK, [s], lambda student: f"s/{student}")]
)
def test_nothing_that_students_write_becomes_markup(make):
    page = Strict(make(submission(EVIL, message=EVIL, repairs=(EVIL,), notes=(EVIL,), problem="")))
    assert "script" not in page.tags and "<script>alert(1)</script>" in page.text
    assert "\x1b" not in page.text and "\ud800" not in page.text


def test_the_class_page_has_marks_distribution_rates_and_mistakes():
    class_ = [submission("ada", ["right"] * 8), submission("bob"), submission("cyd", ["wrong"] * 8),
              submission("dan", ["not_run"] * 8, problem="the file is empty")]  # fmt: skip
    page = Strict(class_page(WEEK, class_, lambda student: f"students/{student}.html"))
    for words in ("4 submissions", "the file is empty", "90–100 %", "1 of 4", "25%", "minus", "bob, cyd",
                  "Processor time in all: 6.0 s", "Isolation of student code: process"):  # fmt: skip
        assert words in page.text, words


def test_marks_survive_a_csv_reader_and_are_no_formulas():
    students = ["ada", "=HYPERLINK(1)", "+1", "-2", "@x", 'a, "b"\nc', "ů"]
    raw = marks_csv(WEEK, [submission(s) for s in students])
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"))))
    assert [r["student"] for r in rows] == [
        "ada", "'=HYPERLINK(1)", "'+1", "'-2", "'@x", 'a, "b"\N{REPLACEMENT CHARACTER}c', "ů",
    ]  # fmt: skip
    assert rows[0]["W1.1 points"] == "8" and rows[0]["W1.2 points"] == "2" and rows[0]["W1.8 points"] == ""
    assert rows[0]["W1.8 state"] == "infrastructure_fault" and rows[0]["maximum"] == "90"
    assert float(rows[0]["judged"]) == 8 + 2 + 24


def test_the_table_shows_every_student_and_state_in_80_columns():
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(class_table(WEEK, [submission("[bold]ada"), submission("x" * 300)]))
    text = console.export_text()
    for words in ("[bold]ada", "partly", "wrong", "time: took too long", "of 90", "34", "xxx"):
        assert words in text, words
    assert max(map(len, text.split("\n"))) <= 80


def test_all_reports_lie_in_one_folder_with_working_links(tmp_path):
    class_ = [submission("ada"), submission("a/b <c>")]
    reports = write_reports(WEEK, class_, [], tmp_path)
    page = reports.class_page.read_text(encoding="utf-8")
    links = [part.partition('"')[0] for part in page.split('href="')[1:]]
    assert len(links) == 5 and all((tmp_path / html.unescape(link)).is_file() for link in links)
    assert reports.marks.is_file() and len(list(reports.students.iterdir())) == 2
