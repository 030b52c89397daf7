"""The optimizer race: five rules on four small landscapes, in float64, the same path for the same settings.

Points of the two-dimensional landscapes are 2 x 1 matrices. Muon's orthogonalized update of such a matrix is
its direction and nothing else, so there Muon is a normalized step; the fourth landscape has a 2 x 2 matrix of
parameters, where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lmcourse.errors import CourseError

Array = NDArray[np.float64]

OPTIMIZERS = ("sgd", "momentum", "adam", "muon", "normalized")
RATES: Mapping[str, Mapping[str, float]] = {
    "ravine": {"sgd": 0.5, "momentum": 0.1, "adam": 0.1, "muon": 0.1, "normalized": 0.07},
    "banana": {"sgd": 0.1, "momentum": 0.05, "adam": 0.1, "muon": 0.1, "normalized": 0.07},
    "plateau": {"sgd": 0.1, "momentum": 0.1, "adam": 0.1, "muon": 0.1, "normalized": 0.07},
    "matrix": {"sgd": 0.5, "momentum": 0.1, "adam": 0.1, "muon": 0.1, "normalized": 0.07},
}
"""Learning rates that tell the story, by landscape; they are not the best ones."""

STEPS = 200
DECAYING = 0.3  # share of the steps in which the rates fall linearly to zero
INSIDE = 0.1  # distance from the goal that counts as arrived
EPS = 1e-8
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
FAR = 1e6  # a path that gets this far is over; its later points are NaN


@dataclass(frozen=True)
class Landscape:
    """A loss over a 2 x n matrix, and the two numbers of it that are drawn.

    Attributes:
        gradient: of the loss, the shape of its argument.
        project: the drawn point (x, y); `lift` makes a matrix of a drawn point, with everything else at its
            best value.
    """

    name: str
    loss: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    project: Callable[[Array], Array]
    lift: Callable[[Array], Array]
    start: tuple[float, float]
    goal: tuple[float, float]
    window: tuple[float, float, float, float]  # left, right, bottom, top of the map


def _turn(degrees: float) -> Array:
    a = np.radians(degrees)
    return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])


def _column(point: Array) -> Array:
    return np.asarray(point, dtype=np.float64).reshape(2, 1)


def _ravine() -> Landscape:
    """Curvatures 1 and 1/100, turned by 30 degrees."""
    frame = _turn(30)
    hessian = frame @ np.diag([1.0, 0.01]) @ frame.T
    return Landscape(
        "ravine",
        lambda w: float(0.5 * (w.T @ hessian @ w).item()),
        lambda w: hessian @ w,
        np.ravel,
        _column,
        (-2.2, 1.0),
        (0.0, 0.0),
        (-2.8, 1.6, -1.4, 1.9),
    )


def _banana() -> Landscape:
    """A curved valley (after H. H. Rosenbrock, 1960): (1 - x)^2 / 2 + 5 (y - x^2)^2 / 2."""

    def gradient(w: Array) -> Array:
        x, y = w.ravel()
        return np.array([[x - 1 - 10 * x * (y - x * x)], [5 * (y - x * x)]])

    return Landscape(
        "banana",
        lambda w: float(0.5 * ((1 - w[0, 0]) ** 2 + 5 * (w[1, 0] - w[0, 0] ** 2) ** 2)),
        gradient,
        np.ravel,
        _column,
        (-1.4, 1.6),
        (1.0, 1.0),
        (-2.0, 2.0, -0.8, 2.4),
    )


def _plateau() -> Landscape:
    """A hole in a plain that is almost flat: 2 (1 - exp(-r^2 / 0.98)) + r^2 / 1000."""
    return Landscape(
        "plateau",
        lambda w: float(2 * (1 - np.exp(-np.sum(w * w) / 0.98)) + 1e-3 * np.sum(w * w)),
        lambda w: (4 / 0.98 * np.exp(-np.sum(w * w) / 0.98) + 2e-3) * w,
        np.ravel,
        _column,
        (2.6, 2.0),
        (0.0, 0.0),
        (-1.6, 3.4, -1.3, 2.7),
    )


def _matrix() -> Landscape:
    """A quadratic in a 2 x 2 matrix W, steep in one singular direction and flat in the other.

    In the frame S = U^T W V the loss is half of (s11 - 1)^2 + (s22 - 1)^2 / 100 + s12^2 + s21^2. A start with
    s12 = s21 = 0 has a gradient with the singular values |s11 - 1| and |s22 - 1| / 100; s11 and s22 are
    drawn.
    """
    left, right = _turn(35), _turn(-20)
    curvature = np.array([[1.0, 1.0], [1.0, 0.01]])
    goal = np.eye(2)

    def offset(w: Array) -> Array:
        return left.T @ w @ right - goal

    return Landscape(
        "matrix",
        lambda w: float(0.5 * np.sum(curvature * offset(w) ** 2)),
        lambda w: left @ (curvature * offset(w)) @ right.T,
        lambda w: np.diag(left.T @ w @ right),
        lambda point: left @ np.diag(np.asarray(point, dtype=np.float64)) @ right.T,
        (-1.0, -1.2),
        (1.0, 1.0),
        (-1.8, 2.4, -1.7, 1.7),
    )


LANDSCAPES: Mapping[str, Landscape] = {
    made.name: made for made in (_ravine(), _banana(), _plateau(), _matrix())
}


def orthogonalized(gradient: Array, iterations: int = 5) -> Array:
    """All singular values moved near 1 by Newton-Schulz iterations (K. Jordan et al., "Muon", 2024).

    Near, not at: with 5 iterations a matrix of rank one comes out with a singular value of about 0.70.
    """
    a, b, c = NEWTON_SCHULZ
    norm = np.linalg.norm(gradient)
    if norm == 0:
        return gradient
    x = gradient / norm
    for _ in range(iterations):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x


def decay_factor(step: int, steps: int, decay: bool = True) -> float:
    """What the learning rate of a step is multiplied by: 1, then linearly down to 0 at the end."""
    if not decay:
        return 1.0
    return min(1.0, (steps - step) / (DECAYING * steps))


def direction(name: str, gradient: Array, memory: dict[str, Array], beta: float) -> Array:
    """What the learning rate is multiplied with and then taken off the weights.

    sgd: the gradient. momentum: m = beta m + g. adam: running means of g with `beta` and of g^2 with 0.99,
    both corrected for their start at zero. muon: a running mean of g, the newest g blended in once more
    (Nesterov), orthogonalized. normalized: the gradient divided by its norm.

    Args:
        memory: empty before the first step; updated in place.
    """
    m = memory.get("m", 0.0)
    if name == "sgd":
        return gradient
    if name == "normalized":
        return gradient / (np.linalg.norm(gradient) or 1.0)
    if name == "momentum":
        memory["m"] = beta * m + gradient
        return memory["m"]
    memory["m"] = m = beta * m + (1 - beta) * gradient
    if name == "muon":
        return orthogonalized((1 - beta) * gradient + beta * m)
    t = memory["t"] = memory.get("t", 0) + 1
    memory["v"] = v = 0.99 * memory.get("v", 0.0) + 0.01 * gradient**2
    return m / (1 - beta**t) / (np.sqrt(v / (1 - 0.99**t)) + EPS)


@dataclass(frozen=True)
class Run:
    """One optimizer's way, from the start (step 0) to the end; NaN where it had already gone too far."""

    points: Array  # (steps + 1, 2) as drawn
    losses: Array  # (steps + 1,)
    distances: Array  # (steps + 1,) from the goal, in the landscape's own matrix

    @cached_property
    def first_inside(self) -> int | None:
        """The first step at which the goal is nearer than `INSIDE`."""
        inside = np.flatnonzero(self.distances < INSIDE)
        return int(inside[0]) if inside.size else None

    @cached_property
    def arrived(self) -> int | None:
        """The first step from which the goal stays nearer than `INSIDE`; flying through is not arriving."""
        outside = np.flatnonzero(~(self.distances < INSIDE))
        after = int(outside[-1]) + 1 if outside.size else 0
        return after if after < len(self.distances) else None

    @property
    def length(self) -> float:
        """Length of the drawn path."""
        return float(np.nansum(np.linalg.norm(np.diff(self.points, axis=0), axis=1)))

    @cached_property
    def left_map(self) -> int | None:
        """The first step that is not finite any more."""
        lost = np.flatnonzero(~np.isfinite(self.losses))
        return int(lost[0]) if lost.size else None


def race(
    landscape: str,
    rates: Mapping[str, float],
    *,
    start: Sequence[float] | None = None,
    steps: int = STEPS,
    beta: float = 0.9,
    muon_beta: float = 0.95,
    decay: bool = True,
    noise: float = 0.0,
    seed: int = 0,
) -> dict[str, Run]:
    """Let optimizers run from the same point, each with its own learning rate.

    Args:
        landscape: a name in `LANDSCAPES`.
        rates: learning rate by optimizer, a subset of `OPTIMIZERS`; the order of the result.
        start: the point (x, y) as drawn; the landscape's own where None.
        beta: memory of momentum and Adam. muon_beta: memory of Muon.
        decay: rates fall linearly to zero over the last 30 % of the steps.
        noise: s.d. of a normal number added to each entry of the gradient, the same for all optimizers.
        seed: of the noise.

    Raises:
        CourseError: an unknown landscape or optimizer, or a number out of range.
    """
    if landscape not in LANDSCAPES:
        raise CourseError(f"landscape: expected one of {', '.join(LANDSCAPES)}, got {landscape!r}")
    if unknown := [name for name in rates if name not in OPTIMIZERS]:
        raise CourseError(f"rates: there is no optimizer {unknown[0]!r}; there are {', '.join(OPTIMIZERS)}")
    if not (steps >= 1 and 0 <= beta < 1 and 0 <= muon_beta < 1 and noise >= 0):
        raise CourseError(
            "race: expected steps >= 1, beta and muon_beta from 0 to below 1 and noise >= 0, got "
            f"{steps}, {beta}, {muon_beta} and {noise}"
        )
    land = LANDSCAPES[landscape]
    first = land.lift(np.array(land.start if start is None else start, dtype=np.float64))
    shocks = noise * np.random.default_rng(seed).standard_normal((steps, *first.shape))
    factors = [decay_factor(step, steps, decay) for step in range(steps)]
    return {
        name: _run(land, name, first, rate * np.array(factors), shocks, muon_beta if name == "muon" else beta)
        for name, rate in rates.items()
    }


def _run(land: Landscape, name: str, first: Array, rates: Array, shocks: Array, beta: float) -> Run:
    steps = len(rates)
    goal = land.lift(np.array(land.goal))
    points, losses, distances = (np.full(shape, np.nan) for shape in ((steps + 1, 2), steps + 1, steps + 1))
    w, memory = first, {}
    for step in range(steps + 1):
        points[step], losses[step] = land.project(w), land.loss(w)
        distances[step] = np.linalg.norm(w - goal)
        if step == steps:
            break
        w = w - rates[step] * direction(name, land.gradient(w) + shocks[step], memory, beta)
        if not np.abs(w).max() < FAR:  # also for NaN
            break
    return Run(points, losses, distances)
