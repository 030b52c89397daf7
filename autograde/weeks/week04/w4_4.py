"""W4.4, Newton-Schulz: singular values into a band around 1, singular vectors kept.

The band is judged, not the exact values: the iteration never settles, and the exact polar factor is
right too.
"""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise(
    "W4.4", manners_points=1, forbidden=("lmcourse.optimizers.rules.newton_schulz.newton_schulz",)
)
LOW, HIGH = 0.66, 1.22  # where every direction above SMALL of the Frobenius norm ends after five steps
SMALL = 0.002


def newton_schulz(G: Tensor, steps: int = 5) -> Tensor:
    return _iterate(G, steps)


def _iterate(G, steps=5, abc=(3.4445, -4.7750, 2.0315), norm="each", turn=True, square=True, guard=0.0):
    a, b, c = abc
    tall = turn and G.shape[-2] > G.shape[-1]
    X = G.mT if tall else G
    if norm == "each":
        size = X.norm(dim=(-2, -1), keepdim=True)
        X = X / (size + guard) if guard else X / size.clamp(min=1e-30)
    elif norm == "batch":
        X = X / X.norm().clamp(min=1e-30)
    elif norm == "spectral":
        X = X / torch.linalg.matrix_norm(X, 2, keepdim=True).clamp(min=1e-30)
    for _ in range(steps):
        A = X @ X.mT
        B = b * A + c * (A @ A if square else A)
        X = a * X + B @ X
    return X.mT if tall else X


EXERCISE.set_reference(newton_schulz)


@EXERCISE.variant("tall ones not turned", "slower for tall matrices, but right")
def _(G, steps=5):
    return _iterate(G, steps, turn=False)


@EXERCISE.variant("exact, by SVD", "the polar factor itself")
def _(G, steps=5):
    U, S, V = torch.linalg.svd(G.double(), full_matrices=False)
    return ((U * (S > 0)[..., None, :]) @ V).to(G.dtype)


@EXERCISE.variant("in float64, with a guard", "computed in double, 1e-7 added to the norm")
def _(G, steps=5):
    return _iterate(G.double(), steps, guard=1e-7).to(G.dtype)


@EXERCISE.variant("largest singular value", "normalized by the largest singular value")
def _(G, steps=5):
    return _iterate(G, steps, norm="spectral")


@EXERCISE.mutant(
    "not normalized",
    "Your iteration starts from G itself; large singular values explode. Divide by the norm.",
)
def _(G, steps=5):
    return _iterate(G, steps, norm="none")


@EXERCISE.mutant(
    "norm of the whole batch", "Your norm is taken over the whole batch; each matrix has its own."
)
def _(G, steps=5):
    return _iterate(G, steps, norm="batch")


@EXERCISE.mutant("coefficients swapped", "Your coefficients b and c are swapped.")
def _(G, steps=5):
    return _iterate(G, steps, abc=(3.4445, 2.0315, -4.7750))


@EXERCISE.mutant(
    "classical coefficients", "Your coefficients converge, but too slowly: small directions are left behind."
)
def _(G, steps=5):
    return _iterate(G, steps, abc=(15 / 8, -10 / 8, 3 / 8))


@EXERCISE.mutant("A @ A missing", "Your polynomial lacks A @ A: c belongs to the square of A.")
def _(G, steps=5):
    return _iterate(G, steps, square=False)


@EXERCISE.mutant("three steps", "Your iteration makes too few steps for small directions.")
def _(G, steps=5):
    return _iterate(G, 3)


@EXERCISE.mutant(
    "only normalized", "Your result is G divided by its norm; its singular values are as unequal as before."
)
def _(G, steps=5):
    return _iterate(G, 0)


@EXERCISE.mutant("nan for a zero matrix", "Your result is nan for a zero matrix: 0 / 0.")
def _(G, steps=5):
    return _iterate(G / G.norm(dim=(-2, -1), keepdim=True), steps, norm="none")


@EXERCISE.mutant("in bfloat16", "Your result comes back in another dtype than G.")
def _(G, steps=5):
    return _iterate(G, steps).bfloat16()


@EXERCISE.mutant("left transposed", "Your tall matrices come back transposed.")
def _(G, steps=5):
    result = _iterate(G, steps)
    return result.mT if G.shape[-2] > G.shape[-1] else result


@EXERCISE.mutant("turned over", "Your result has the sign turned: singular vectors are not kept.")
def _(G, steps=5):
    return -_iterate(G, steps)


@EXERCISE.mutant(
    "each entry by itself", "Your division is by element, as in Adam; singular vectors are lost."
)
def _(G, steps=5):
    return G / G.abs().clamp(min=1e-30) / G.shape[-1] ** 0.5


@EXERCISE.mutant("one matrix only", "Your function takes the first matrix of a batch for all.")
def _(G, steps=5):
    first = G.flatten(0, -3)[:1] if G.dim() > 2 else G
    return _iterate(first, steps).expand(G.shape)


@EXERCISE.mutant("in place", "Your function changes G in place.")
def _(G, steps=5):
    G.div_(G.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-30))
    return _iterate(G, steps)


@EXERCISE.mutant("large guard", "Your guard against 0 / 0 is so large that small gradients shrink.")
def _(G, steps=5):
    return _iterate(G, steps, guard=1.0)


@EXERCISE.property("singular values in the band", 4)
def _(answer: Answer, draw: Draw) -> None:
    for r, c in ((4, 6), (8, 8), (5, 16)):
        _judge(answer, draw, _matrix(draw, r, c), f"{r} x {c}")


@EXERCISE.property("tall matrices", 2)
def _(answer: Answer, draw: Draw) -> None:
    _judge(answer, draw, _matrix(draw, 11, 4), "11 x 4")
    _judge(answer, draw, _matrix(draw, 6, 1), "one column")


@EXERCISE.property("batches, each matrix by itself", 3)
def _(answer: Answer, draw: Draw) -> None:
    sizes = torch.tensor([1.0, 1e-3, 50.0]).double()[:, None, None]
    batch = torch.stack([_matrix(draw, 5, 7, k) for k in range(3)]) * sizes
    _judge(answer, draw, batch, "three matrices of different sizes")
    _judge(answer, draw, batch.view(3, 1, 5, 7), "a batch of batches")


@EXERCISE.property("any scale, and zero", 2)
def _(answer: Answer, draw: Draw) -> None:
    for scale in (1e-4, 1e6):
        _judge(answer, draw, scale * _matrix(draw, 4, 9), f"G times {scale:g}")
    zero = answer(torch.zeros(3, 5, dtype=torch.float64))
    case = expect.case(draw, "a zero matrix")
    if not torch.equal(expect.shape(zero, (3, 5), case=case).double(), torch.zeros(3, 5).double()):
        raise expect.wrong("a zero matrix should stay zero", case, "Guard the division.")


@EXERCISE.property("float32 stays float32", 2)
def _(answer: Answer, draw: Draw) -> None:
    G = _matrix(draw, 6, 9).float()
    expect.dtype(answer(G.clone()), torch.float32, case=expect.case(draw, "float32"))
    _judge(answer, draw, G, "float32", loose=2e-3)


def _matrix(draw: Draw, r: int, c: int, offset: int = 0) -> Tensor:
    """A matrix whose singular values lie between 0.004 and 1 of the largest, the last one small."""
    generator = draw.generator(offset)
    n = min(r, c)
    U = torch.linalg.qr(torch.randn(r, n, dtype=torch.float64, generator=generator))[0]
    V = torch.linalg.qr(torch.randn(c, n, dtype=torch.float64, generator=generator))[0]
    return (
        U
        @ torch.diag(torch.logspace(0, -2.3, n, dtype=torch.float64) if n > 1 else torch.ones(1).double())
        @ V.mT
    )


def _judge(answer: Answer, draw: Draw, G: Tensor, words: str, loose: float = 1e-6) -> None:
    case = expect.case(draw, words)
    came = expect.shape(answer(G.clone()), tuple(G.shape), case=case).double()
    if not bool(came.isfinite().all()):
        raise expect.wrong("the result holds nan or inf", case, "Divide by the Frobenius norm first.")
    U, S, V = torch.linalg.svd(G.double(), full_matrices=False)
    inner = U.mT @ came @ V.mT  # (..., n, n), diagonal where the singular vectors are kept
    diagonal = inner.diagonal(dim1=-2, dim2=-1)
    known = S / S.norm(dim=-1, keepdim=True) >= SMALL
    stray = (inner - torch.diag_embed(diagonal)).abs().max()
    outside = (came - U @ inner @ V).abs().max()
    if max(float(stray), float(outside)) > loose * 100:
        raise expect.wrong(
            "the singular vectors of the result are not those of G",
            case,
            "X is only multiplied by polynomials in X @ X.mT.",
        )
    for value in diagonal[known].tolist():
        if not LOW <= value <= HIGH:
            raise expect.wrong(
                f"a singular value of the result is {value:.3g}, outside {LOW} to {HIGH}",
                case,
                "Five steps of a X + (b A + c A A) X from G divided by its own norm.",
            )
