"""Public checks, predictions and quizzes: what a student runs before handing in."""
