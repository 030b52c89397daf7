"""Two objectives on one batch, the mean over tokens and over examples, and how their gradients differ."""

from __future__ import annotations

import numpy as np

V, WIDTH, EXAMPLES = 12, 8, 6


def token_weights(lengths: np.ndarray, objective: str) -> np.ndarray:
    """Weight of one token of each example; over all tokens the weights add up to 1.

    Args:
        lengths: (m,) tokens of each example, at least 1.
        objective: "token mean" or "example mean".
    """
    lengths = np.asarray(lengths, dtype=np.float64)
    if objective == "token mean":
        return np.full(len(lengths), 1 / lengths.sum())
    return 1 / (len(lengths) * lengths)


def loss(lengths: np.ndarray, losses: np.ndarray, objective: str) -> float:
    """The objective in nats, where every token of an example has the same loss."""
    return float((token_weights(lengths, objective) * np.asarray(lengths) * np.asarray(losses)).sum())


def angle_between_objectives(ratio: float, seed: int) -> float:
    """Degrees between the gradients of the two objectives for a random softmax model and a random batch.

    Args:
        ratio: longest example over shortest example, in tokens; lengths lie evenly between in the logarithm.
        seed: of model and batch.
    """
    rng = np.random.default_rng(seed)
    lengths = np.round(4 * np.geomspace(1, ratio, EXAMPLES)).astype(int)
    head = rng.normal(size=(WIDTH, V)) / np.sqrt(WIDTH)
    topics = rng.normal(size=(EXAMPLES, WIDTH))  # examples are about something, so their gradients differ
    per_example = []
    for length, topic in zip(lengths, topics, strict=True):
        hidden = topic + 0.5 * rng.normal(size=(length, WIDTH))  # (n, WIDTH)
        logits = hidden @ head  # (n, V)
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        p[np.arange(length), rng.integers(0, V, length)] -= 1
        per_example.append(hidden.T @ p)  # gradient of the sum of the losses
    gradients = np.array(per_example)
    token, example = (
        np.tensordot(token_weights(lengths, objective), gradients, axes=1).ravel()
        for objective in ("token mean", "example mean")
    )
    cosine = token @ example / np.linalg.norm(token) / np.linalg.norm(example)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
