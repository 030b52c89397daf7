"""Run the public check of one exercise on the student's names: value rows first, then property rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from lmcourse import exercises
from lmcourse.checks.compare import describe, difference
from lmcourse.checks.encoding import decode
from lmcourse.checks.global_state import GlobalState, kept_global_state
from lmcourse.checks.limits import CALL_SECONDS, TimeLimit, call_with_limit
from lmcourse.checks.notes import stored_predictions
from lmcourse.checks.recognize import agreed, recognize
from lmcourse.checks.report import Report
from lmcourse.checks.rows import (
    ERROR,
    FAILED,
    NOT_CHECKED,
    NOT_STARTED,
    TOO_SLOW,
    PropertyRow,
    Row,
    property_rows,
)
from lmcourse.checks.show import show
from lmcourse.checks.student import NotStarted, Renamed, StudentNames, explain
from lmcourse.checks.tables import Case, load_table
from lmcourse.threads import one_thread


def evaluate(exercise_id: str, namespace: Mapping[str, Any], seconds: float = CALL_SECONDS) -> Report:
    """The report of an exercise's public check.

    Args:
        namespace: the student's names, as of a notebook's kernel.
        seconds: limit of one row; after a row that exceeds it, the remaining rows do not run.

    Global random generators are left as they were, whatever the student's code does with them. Rows run on
    one thread: their tensors are tiny, and on a busy machine a second one made a check take ten seconds.

    Raises:
        CourseError: no such exercise.
    """
    spec = exercises.exercise(exercise_id)
    names = StudentNames(spec, namespace)
    steps: list[Case | PropertyRow] = [*load_table(spec.week).cases(spec.id), *property_rows(spec.id)]
    rows: list[Row] = []
    mistakes: list[dict[str, str]] = []
    for step in steps:
        found: dict[str, str] = {}
        if any(row.state == TOO_SLOW for row in rows):
            rows.append(_row(step, NOT_CHECKED, "not run, since an earlier case did not finish"))
        else:
            rows.append(_run(step, names, seconds, found))
        mistakes.append(found)
    said = _said_once(rows, agreed(mistakes))
    return Report(spec.id, spec.title, tuple(said), stored_predictions(spec.id))


def _said_once(rows: list[Row], mistakes: list[str]) -> Iterator[Row]:
    """The rows with the text about their mistake; a text that several rows share is said at the first."""
    seen: set[str] = set()
    for row, mistake in zip(rows, mistakes, strict=True):
        texts = [text for text in (row.message, mistake) if text]
        message = " ".join(text for text in texts if text not in seen)
        if texts and not message and row.state in (FAILED, ERROR):
            message = "The same as above."
        seen.update(texts)
        yield replace(row, message=message)


def _run(step: Case | PropertyRow, names: StudentNames, seconds: float, found: dict[str, str]) -> Row:
    """The row of one step; known mistakes that it recognizes go into `found`."""
    entry = step.entry if isinstance(step, Case) else next(iter(names))
    with one_thread(), kept_global_state() as state:
        try:
            if isinstance(step, Case):
                return _run_case(step, names, seconds, state, found)
            row = call_with_limit(lambda: step(names), seconds)
            return _with_manners(replace(row, message="") if row.ok else row, entry, state, [])
        except TimeLimit:
            return _row(step, TOO_SLOW, f"{entry} did not finish in {seconds:g} s")
        except NotStarted as missing:
            return _row(step, NOT_STARTED, str(missing))
        except Renamed as missing:
            return _row(step, FAILED, str(missing))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return _failed_row(step, error, names)


def _run_case(
    case: Case, names: StudentNames, seconds: float, state: GlobalState, found: dict[str, str]
) -> Row:
    entry = names[case.entry]
    problem = _wrong_sort(entry, case)
    if problem:
        return _row(case, FAILED, problem)
    arguments = case.arguments()
    yours = entry
    if case.is_call:
        yours = call_with_limit(lambda: entry(*arguments.values()), seconds)
    expected = decode(case.expected)
    gap = difference(yours, expected)
    if gap:
        found.update(recognize(yours, case))
    row = Row(
        case.title,
        case.checks,
        show(yours, gap),
        show(expected, gap),
        ok=gap is None,
        message=_sentence(gap.reason) if gap else "",
        inputs=_inputs(case),
    )
    return _with_manners(row, case.entry, state, _changed_arguments(case, arguments))


def _wrong_sort(entry: Any, case: Case) -> str:
    """What is wrong when a function stands for a value or the other way round, else an empty text."""
    if case.is_call and not callable(entry):
        return f"`{case.entry}` is {describe(entry)}; expected a function"
    if not case.is_call and callable(entry):
        return f"`{case.entry}` is {describe(entry)}; expected the value itself"
    return ""


def _inputs(case: Case) -> str:
    return "\n".join(f"{name} = {show(value)}" for name, value in case.arguments().items())


def _sentence(text: str) -> str:
    text = text[0].upper() + text[1:]
    return text if text.endswith(("?", ".")) else f"{text}."


def _changed_arguments(case: Case, arguments: dict[str, Any]) -> list[str]:
    changed = []
    for name, fresh in case.arguments().items():
        if name in case.may_change or isinstance(fresh, torch.Generator):
            continue
        if difference(arguments[name], fresh) is not None:
            changed.append(f"changed its argument `{name}` in place (work on a copy)")
    return changed


def _with_manners(row: Row, entry: str, state: GlobalState, found: list[str]) -> Row:
    """The row, failed if the call disturbed its inputs or the process, with each disturbance in words."""
    found = [*found, *state.changes()]
    if not found:
        return row
    message = f"`{entry}` {' and '.join(found)}."
    return replace(row, ok=False, state=FAILED, message=f"{row.message} {message}".strip())


def _failed_row(step: Case | PropertyRow, error: BaseException, names: StudentNames) -> Row:
    failure = explain(error, names)
    if isinstance(step, PropertyRow) and isinstance(error, AssertionError) and failure is None:
        return _row(step, FAILED, str(error))
    if failure is None:
        # The check's own code stumbled over what came back: that, too, is an answer of the wrong sort.
        return _row(step, FAILED, f"the result cannot be used: {type(error).__name__}: {error}")
    if failure.is_stub:
        return _row(step, NOT_STARTED, "the stub is still in place: replace `raise NotImplementedError`")
    return replace(_row(step, ERROR, failure.text), trace=failure.trace)


def _row(step: Case | PropertyRow, state: str, message: str) -> Row:
    if isinstance(step, Case):
        expected = show(decode(step.expected))
        return Row(step.title, step.checks, "", expected, False, message, state, _inputs(step))
    return Row(step.case, step.checks, "", "", False, message, state)
