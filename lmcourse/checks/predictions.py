"""Predict first: a question before the check, and the answer kept beside the notebook."""

from __future__ import annotations

from lmcourse import exercises
from lmcourse.checks.notes import PREDICTIONS, local_time, store_answer, stored_answers
from lmcourse.checks.output import emit_markdown


def predict(exercise_id: str, question: str, answer: object = None) -> None:
    """Show a question about the exercise, and store the answer if there is one.

    Args:
        answer: any short answer in words or numbers; it is not graded, and `check` shows it beside the
            results.

    The answer goes to `.lmcourse/predictions.json` beside the notebook. Where that cannot be written, a line
    says so and nothing else changes.

    Raises:
        CourseError: no such exercise.
    """
    spec = exercises.exercise(exercise_id)
    question = str(question).strip()
    lines = [f"**Predict first ({spec.id}).** {question}"]
    problem = ""
    if answer is not None and str(answer).strip():
        problem = store_answer(PREDICTIONS, spec.id, question, {"answer": str(answer).strip()})
        if problem:
            lines.append(f"> {str(answer).strip()}\n\nYour prediction was {problem}.")
    stored = stored_answers(PREDICTIONS, spec.id, question)
    if stored and not problem:
        last = stored[-1]
        lines.append(f"> {last['answer']}\n\nStored on {local_time(last['time'])}; the check shows it again.")
    elif not stored and not problem:
        lines.append('Write it into the cell above as `answer="..."` and run the cell. It is not graded.')
    emit_markdown("\n\n".join(lines))
