"""What the class page computes: discrimination, unusual submissions, changes, similar answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small_course

from autograde.grading.prints import of_source
from autograde.grading.settings import Late
from autograde.grading.settle import Change
from autograde.judge.verdict import PropertyResult, SubmissionVerdict, Verdict
from autograde.reports.class_page import class_page
from autograde.reports.items import items
from autograde.reports.rows import Row
from autograde.reports.similar import pairs, similar_page
from autograde.reports.student_page import student_page
from autograde.reports.unusual import reasons

WEEK = small_course.WEEK


def row(student, passed, rest, **changes):
    first, second, *others = WEEK.exercises
    verdicts = [
        Verdict(
            first.id, "right" if passed else "wrong", 8.0 * passed, 8.0, "", (PropertyResult("p", 8, passed),)
        ),
        Verdict(second.id, "partly", float(rest), 6.0),
        *(Verdict(e.id, "not_attempted", 0.0, float(e.points)) for e in others),
    ]
    return Row(SubmissionVerdict(student, WEEK.id, tuple(verdicts), **changes))


def first_replaced(made, **changes):
    first, *others = made.verdict.verdicts
    return replace(made, verdict=replace(made.verdict, verdicts=(replace(first, **changes), *others)))


def test_discrimination_is_the_correlation_with_everything_else():
    passed = [1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1]
    rest = [6, 5, 1, 4, 2, 3, 3.5, 2.5, 0, 4, 6]
    [item] = items([row(str(n), bool(p), r) for n, (p, r) in enumerate(zip(passed, rest, strict=True))])
    assert (item.exercise, item.name, item.tried, item.passed) == ("W1.1", "p", 11, 7)
    assert item.discrimination == pytest.approx(np.corrcoef(passed, rest)[0, 1])


@pytest.mark.parametrize("passed", [[1] * 12, [0] * 12, [1, 0]])
def test_where_nothing_can_be_said_nothing_is(passed):
    [item] = items([row(str(n), bool(p), n % 3) for n, p in enumerate(passed)])
    assert item.discrimination is None


def test_unusual_submissions_are_named_with_reasons():
    usual = [row(f"u{n}", True, 3, cpu_seconds=2.0) for n in range(5)]
    slow = row("slow", True, 3, cpu_seconds=60.0)
    many = row("many", True, 3, repairs=tuple(f"repair {n}" for n in range(9)))
    unread = row("unread", False, 0, problem="the file is empty")
    kept = first_replaced(row("kept", True, 3), kept="no memory")
    barred = first_replaced(row("barred", True, 3), state="forbidden", points=0.0)
    found = reasons([*usual, slow, many, unread, kept, barred])
    assert set(found) == {"slow", "many", "unread", "kept", "barred"}
    assert "60 s" in found["slow"][0] and "9 repairs" in found["many"][0]
    assert found["unread"] == ["not graded: the file is empty"]
    assert "keeps an earlier mark: no memory" in found["kept"][0] and "W1.1" in found["barred"][0]


def test_changes_and_lateness_are_on_the_pages():
    late = replace(row("ada", True, 3), late=Late(2, 18.0), name="Ada L.")
    change = Change("ada", "W1.1", 3.0, None, "partly", "harness_fault", "its hidden tests changed")
    page = class_page(WEEK, [late], str, [change], "similar.html").decode()
    assert "its hidden tests changed" in page and "2 d, −11" in page and 'href="similar.html"' in page
    assert late.points == 0 and "<b>0</b>" in page, "never below 0"
    assert "came 2 days late" in student_page(late).decode()


LOOP = """
def pack(docs, T, eos):
    stream = []
    for number, doc in enumerate(docs):
        for token in doc:
            stream.append((token, number))
        stream.append((eos, number))
    rows = len(stream) // (T + 1)
    return [stream[r * (T + 1) : (r + 1) * (T + 1)] for r in range(rows)]
"""
OTHER = """
def pack(docs, T, eos):
    flat = sum(([*d, eos] for d in docs), [])
    ids = sum(([n] * (len(d) + 1) for n, d in enumerate(docs)), [])
    whole = len(flat) - len(flat) % (T + 1)
    return list(zip(flat[:whole], ids[:whole], strict=True))
"""


def test_renaming_comments_and_layout_change_no_fingerprint():
    renamed = LOOP.replace("stream", "alles").replace("token", "t").replace("number", "n")
    renamed = renamed.replace("    rows =", "    # now the rows\n\n    rows =").replace(
        "def pack", "def paket"
    )
    assert of_source(LOOP) == of_source(renamed) and len(of_source(LOOP)) > 8
    assert len(of_source(LOOP) & of_source(OTHER)) < 3
    assert of_source("def f(:") == set() and of_source("x = 1") == set()


def test_two_equal_answers_among_others_are_a_pair_and_what_all_share_is_none():
    def printed(student, source):
        return replace(row(student, True, 3), prints={"W1.3": tuple(sorted(of_source(source)))})

    other = [
        printed(f"o{n}", OTHER + f"\n\ndef helper_{n}(x):\n    return x * {n} + {n * n}\n") for n in range(9)
    ]
    copies = [printed("copy", LOOP), printed("<b>", LOOP.replace("stream", "out"))]
    found = pairs([*other, *copies])
    assert [p.students for p in found] == [("<b>", "copy")] and found[0].shares == {"W1.3": 1.0}
    page = similar_page(WEEK, [*other, *copies], str).decode()
    assert "A pointer for a person, not a finding." in page and "&lt;b&gt;" in page and "<b>" not in page
    assert "No two answers" in similar_page(WEEK, other, str).decode()
