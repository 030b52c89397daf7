"""Quizzes: a question with its options, and feedback for the option that was chosen."""

from __future__ import annotations

from lmcourse.checks.notes import QUIZ, store_answer, stored_answers
from lmcourse.checks.output import emit_markdown
from lmcourse.checks.quiz_format import Question, Quiz, load_quiz
from lmcourse.errors import CourseError


def quiz(week_id: str, number: int | None = None, option: str | None = None) -> None:
    """Show the questions of a week's quiz, one question, or the feedback for an option of it.

    `quiz("W1")` shows all questions, `quiz("W1", 3)` the third, `quiz("W1", 3, "b")` what is right or wrong
    about its option b, and stores the choice in `.lmcourse/quiz.json` beside the notebook. In a pre-test
    the choice is stored without feedback.

    Raises:
        CourseError: no such week, quiz, question or option.
    """
    questions = load_quiz(week_id)
    if number is None:
        texts = [_question_text(questions, i) for i in range(1, len(questions.questions) + 1)]
        emit_markdown("\n\n".join(texts))
        return
    question = _find(questions, number)
    if option is None:
        emit_markdown(_question_text(questions, number))
        return
    emit_markdown(_answer(questions, question, number, str(option).strip().lower()))


def _find(quiz: Quiz, number: int) -> Question:
    count = len(quiz.questions)
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
        raise CourseError(f"the quiz of {quiz.week} has questions 1 to {count}, not {number!r}")
    return quiz.questions[number - 1]


def _question_text(quiz: Quiz, number: int) -> str:
    question = quiz.questions[number - 1]
    lines = [f"**Question {number} of {len(quiz.questions)}.** {question.question}", ""]
    lines += [f"- **{key}** {option.text}" for key, option in question.options.items()]
    chosen = _chosen(quiz.week, number)
    how = f"You chose **{chosen}**." if chosen else f'Answer with `quiz("{quiz.week}", {number}, "a")`.'
    return "\n".join([*lines, "", how])


def _answer(quiz: Quiz, question: Question, number: int, key: str) -> str:
    if key not in question.options:
        known = ", ".join(question.options)
        raise CourseError(f"question {number} of {quiz.week} has the options {known}, not {key!r}")
    option = question.options[key]
    entry = {"option": key} if quiz.pretest else {"option": key, "right": option.right}
    problem = store_answer(QUIZ, quiz.week, str(number), entry)
    lines = [f"**Question {number}, option {key}.** {option.text}"]
    if quiz.pretest:
        if not problem:
            lines.append("Your answer is stored. Feedback comes at the end of the course.")
    else:
        lines.append(f"**{'Right' if option.right else 'Not right'}.** {option.feedback}")
    if problem:
        lines.append(f"Your answer was {problem}.")
    return "\n\n".join(lines)


def _chosen(week: str, number: int) -> str:
    stored = stored_answers(QUIZ, week, str(number))
    return str(stored[-1].get("option", "")) if stored else ""
