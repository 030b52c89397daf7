"""An answer that can give no more: the worker died, ran too long, or broke the rules of the channel."""

from __future__ import annotations


class AnswerEnded(Exception):
    """Nothing more can be asked. `state` is the verdict's state, `message` says in words what happened."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state
        self.message = message
