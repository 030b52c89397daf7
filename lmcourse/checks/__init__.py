"""Public checks, predictions and quizzes: what a student runs before handing in."""

from lmcourse.checks.predictions import predict
from lmcourse.checks.public import check
from lmcourse.checks.quiz import quiz

__all__ = ["check", "predict", "quiz"]
