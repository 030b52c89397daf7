"""Text from a model, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.evaluation.choice import Choice
from lmcourse.evaluation.loss import evaluating
from lmcourse.model import KeyValueCache, Transformer

PREFILL = 512  # tokens of a prompt that are computed at once


def generate(
    model: Transformer,
    prompt: Sequence[int],
    tokens: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    stop: int | None = None,
) -> list[int]:
    """Continue a prompt.

    Beyond the model's context only the last tokens are seen, and their positions count from 0 again.

    Args:
        model: in any mode; dropout is off meanwhile and the mode is restored.
        prompt: ids to begin with, at least one.
        tokens: most tokens to add.
        generator: of the CPU; the only source of chance.
        temperature, top_k, top_p: as in `Choice`.
        stop: id that ends the text; it is not returned.

    Returns:
        The added ids.

    Raises:
        CourseError: an empty prompt, an id outside the vocabulary, or a value that makes no distribution.
    """
    vocab_size = model.config.vocab_size
    if not prompt:
        raise CourseError(
            "prompt: expected at least one token, got none; give the model something to continue"
        )
    outside = [i for i in prompt if not 0 <= i < vocab_size]
    if outside:
        raise CourseError(f"prompt: id {outside[0]} is outside the vocabulary 0..{vocab_size - 1}")
    if tokens < 0:
        raise CourseError(f"tokens: expected 0 or more, got {tokens}")
    choice = Choice(temperature, top_k, top_p)
    ids = list(prompt)
    with evaluating(model):
        reader = Reader(model)
        for _ in range(tokens):
            token = choice.pick(reader.next_logits(ids), generator)
            if token == stop:
                break
            ids.append(token)
    return ids[len(prompt) :]


class Reader:
    """Logits after a text that grows; what was read is not computed again while the text fits the context."""

    def __init__(self, model: Transformer, prefill: int = PREFILL) -> None:
        """
        Args:
            model: in evaluation mode.
            prefill: most tokens that are computed at once; the memory of attention grows with it.
        """
        self._model, self._prefill = model, prefill
        self._cache = KeyValueCache()

    def next_logits(self, ids: Sequence[int]) -> Tensor:
        """(V,) logits of the token after `ids`, which begin with the ids of the call before.

        Beyond the context every position of the window moves with each token, so that nothing computed before
        is of use, and the window is computed anew.
        """
        context = self._model.config.context
        if len(ids) > context:
            self._cache = KeyValueCache()
            ids = ids[-context:]
        device = self._model.embedding.weight.device
        new = torch.tensor(ids[len(self._cache) :], device=device)
        for piece in new.split(self._prefill):
            logits = self._model(piece[None], cache=self._cache)[0, -1]
        return logits
