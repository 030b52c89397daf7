"""Text from a model, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer


def generate(
    model: Transformer,
    prompt: Sequence[int],
    tokens: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    stop: int | None = None,
) -> list[int]:
    """Continue a prompt.

    Beyond the model's context only the last tokens are seen, and their positions count from 0 again.

    Args:
        model: in any mode; dropout is off meanwhile and the mode is restored.
        prompt: ids to begin with, at least one.
        tokens: most tokens to add.
        generator: the only source of chance.
        temperature: divides the logits, in units of 1; 0, or what rounds to it, takes the likeliest token.
        top_k: choose among this many likeliest tokens; None among all.
        stop: id that ends the text; it is not returned.

    Returns:
        The added ids.

    Raises:
        CourseError: an empty prompt, an id outside the vocabulary, or a value that makes no distribution.
    """
    vocab_size, context = model.config.vocab_size, model.config.context
    if not prompt:
        raise CourseError(
            "prompt: expected at least one token, got none; give the model something to continue"
        )
    outside = [i for i in prompt if not 0 <= i < vocab_size]
    if outside:
        raise CourseError(f"prompt: id {outside[0]} is outside the vocabulary 0..{vocab_size - 1}")
    if tokens < 0:
        raise CourseError(f"tokens: expected 0 or more, got {tokens}")
    if not temperature >= 0:  # nan too
        raise CourseError(f"temperature: expected 0 (always the likeliest) or more, got {temperature}")
    if top_k is not None and top_k < 1:
        raise CourseError(f"top_k: expected at least 1 token to choose from, got {top_k}")
    ids = list(prompt)
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            for _ in range(tokens):
                logits = model(torch.tensor([ids[-context:]]))[0, -1].float()  # (V,)
                token = _choose(logits, generator, temperature, top_k)
                if token == stop:
                    break
                ids.append(token)
    finally:
        model.train(training)
    return ids[len(prompt) :]


def _choose(logits: torch.Tensor, generator: torch.Generator, temperature: float, top_k: int | None) -> int:
    if temperature < torch.finfo(logits.dtype).tiny:  # as a divisor it would count as 0
        return int(logits.argmax())
    if top_k is not None and top_k < len(logits):
        bound = logits.topk(top_k).values[-1]
        logits = logits.masked_fill(logits < bound, float("-inf"))
    probabilities = torch.softmax((logits - logits.max()) / temperature, dim=0)
    return int(torch.multinomial(probabilities, 1, generator=generator))
