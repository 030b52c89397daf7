"""What becomes of a new outcome beside what is known: earlier good marks stay when a later run fails."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autograde.grading.keys import key_of, why
from autograde.grading.one import Graded
from autograde.grading.store import Stored
from autograde.judge.verdict import FAULTS, SubmissionVerdict, Verdict


@dataclass(frozen=True)
class Change:
    """A mark that is another one than before: points are None where they were not decided."""

    student: str
    exercise: str
    before: float | None
    after: float | None
    was: str  # states
    now: str
    why: str


def settle(graded: Graded, earlier: Stored | None) -> tuple[Stored, tuple[Change, ...]]:
    """The record to store, and which marks differ from the earlier one's."""
    if earlier is None or (graded.notebook is None and _is_worth_keeping(earlier)):
        return (_fresh(graded), ()) if earlier is None else (_all_kept(graded, earlier), ())
    old = {v.exercise: v for v in earlier.verdict.verdicts}
    verdicts = tuple(_better(v, old.get(v.exercise)) for v in graded.verdict.verdicts)
    stored = _fresh(replace(graded, verdict=replace(graded.verdict, verdicts=verdicts)), earlier)
    changes = []
    for v in verdicts:
        before = old.get(v.exercise)
        if before is not None and (before.points, before.state) != (v.points, v.state):
            reason = why(earlier.parts.get(v.exercise), graded.parts.get(v.exercise, {}))
            change = Change(
                graded.student, v.exercise, before.points, v.points, before.state, v.state, reason
            )
            changes.append(change)
    return stored, tuple(changes)


def _better(new: Verdict, old: Verdict | None) -> Verdict:
    if new.state in FAULTS and old is not None and old.state not in FAULTS:
        return replace(old, kept=f"a later run ended without a verdict: {new.message}")
    return new


def _is_worth_keeping(earlier: Stored) -> bool:
    return not earlier.verdict.problem and any(v.state not in FAULTS for v in earlier.verdict.verdicts)


def _all_kept(graded: Graded, earlier: Stored) -> Stored:
    """The newer file cannot be read, or the grader failed: the marks stay, and a person is told."""
    problem = graded.verdict.problem or next((v.message for v in graded.verdict.undecided), "unknown")
    reason = f"what is there now could not be graded: {problem}"
    verdicts = tuple(v if v.state in FAULTS else replace(v, kept=reason) for v in earlier.verdict.verdicts)
    return replace(earlier, verdict=replace(earlier.verdict, verdicts=verdicts))


def _fresh(graded: Graded, earlier: Stored | None = None) -> Stored:
    decided = dict(earlier.decided) if earlier else {}
    parts = dict(graded.parts)
    for v in graded.verdict.verdicts:
        if v.kept and earlier:  # its own parts, not those of the run that failed
            parts[v.exercise] = earlier.parts.get(v.exercise, {})
        elif v.state not in FAULTS and v.exercise in parts:
            key = key_of(parts[v.exercise])
            decided.pop(key, None)
            decided[key] = v
    handed_in = graded.handed_in
    if earlier and earlier.digest == graded.digest and earlier.handed_in:
        handed_in = min(handed_in, earlier.handed_in)  # the same file again, however it was copied meanwhile
    return Stored(graded.verdict, parts, decided, graded.digest, handed_in, graded.source, graded.prints)


def shown(stored: Stored) -> SubmissionVerdict:
    """The verdict with a note on each mark that an earlier run gave."""
    notes = [
        f"{v.exercise}: the mark of an earlier run was kept; {v.kept}"
        for v in stored.verdict.verdicts
        if v.kept
    ]
    return replace(stored.verdict, notes=tuple(dict.fromkeys((*stored.verdict.notes, *notes))))
