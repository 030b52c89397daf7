"""W2.5, repair a training step: rate, backward for every micro-batch, clip, step, clear."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week02 import batches
from autograde.weeks.week02.w2_4 import accumulate

EXERCISE = HiddenExercise("W2.5", manners_points=1)


def train_step(model, optimizer, micro_batches, total_tokens: int, lr: float, clip: float) -> float:
    for group in optimizer.param_groups:
        group["lr"] = lr
    loss = accumulate(model, micro_batches, total_tokens)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
    return loss


EXERCISE.set_reference(train_step)


@EXERCISE.variant("rate after backward", "the rate is set just before the step, clipping by hand")
def _(model, optimizer, micro_batches, total_tokens, lr, clip):
    loss = accumulate(model, micro_batches, total_tokens)
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    for p in model.parameters():
        if p.grad is not None and norm > clip:
            p.grad.mul_(clip / norm)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    optimizer.zero_grad()
    return loss


@EXERCISE.variant("clears to None by hand", "gradients set to None instead of zero_grad; cleared before, too")
def _(model, optimizer, micro_batches, total_tokens, lr, clip):
    optimizer.param_groups[0]["lr"] = lr
    optimizer.zero_grad(set_to_none=False)
    loss = accumulate(model, micro_batches, total_tokens)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    for p in model.parameters():
        p.grad = None
    return loss


def _step(
    model, optimizer, micro_batches, total_tokens, lr, clip, *,
    clear_inside=False, clip_inside=False, clip_at_all=True, step_inside=False, late_rate=False, clear=True,
    clip_after=False, set_rate=True,
):  # fmt: skip
    """The step with faults switched on one by one; all of the notebook's four give the step as handed out."""
    if set_rate and not late_rate:
        optimizer.param_groups[0]["lr"] = lr
    loss = 0.0
    for batch in micro_batches:
        if clear_inside:
            optimizer.zero_grad()
        loss += accumulate(model, [batch], total_tokens)
        if clip_inside:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if step_inside:
            optimizer.step()
    if clip_at_all and not clip_inside and not clip_after:
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    if not step_inside:
        optimizer.step()
    if clip_after:
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    if late_rate:
        optimizer.param_groups[0]["lr"] = lr
    if clear:
        optimizer.zero_grad()
    return loss


FAULTS = {
    "as handed out": (
        "Your step is as it was handed out: four lines stand in the wrong place.",
        {"clear_inside": True, "clip_inside": True, "step_inside": True, "late_rate": True, "clear": False},
    ),
    "cleared inside": (
        "Your gradients are cleared before each micro-batch, so only the last one arrives: clear once, at "
        "the end.",
        {"clear_inside": True},
    ),
    "clipped inside": (
        "Your gradients are clipped after each micro-batch: clip once, after the last backward, on the sum.",
        {"clip_inside": True},
    ),
    "a step for each micro-batch": (
        "Your optimizer steps after each micro-batch: one step, after all of them.",
        {"step_inside": True, "clip_at_all": False},
    ),
    "rate set late": (
        "Your learning rate is set after the step, so each step runs at the rate of the one before.",
        {"late_rate": True},
    ),
    "rate never set": ("Your learning rate is never set.", {"set_rate": False}),
    "clipped after the step": (
        "Your gradients are clipped after the step, when they have done their work.",
        {"clip_after": True},
    ),
    "never clipped": ("Your gradients are no longer clipped.", {"clip_at_all": False}),
    "never cleared": (
        "Your gradients are not cleared, so the next step starts with those of this one.",
        {"clear": False},
    ),
    "cleared inside, stepped inside": (
        "Your micro-batches are steps of their own: gradients are cleared and applied inside the loop.",
        {"clear_inside": True, "step_inside": True, "clip_at_all": False},
    ),
}

for _name, (_note, _faults) in FAULTS.items():

    @EXERCISE.mutant(_name, _note)
    def _(model, optimizer, micro_batches, total_tokens, lr, clip, _faults=_faults):
        return _step(model, optimizer, micro_batches, total_tokens, lr, clip, **_faults)


@EXERCISE.mutant(
    "clipped by value", "Your gradients are clipped number by number; their direction changes then."
)
def _(model, optimizer, micro_batches, total_tokens, lr, clip):
    optimizer.param_groups[0]["lr"] = lr
    loss = accumulate(model, micro_batches, total_tokens)
    torch.nn.utils.clip_grad_value_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
    return loss


@EXERCISE.mutant(
    "clipped per parameter", "Your parameters are clipped each by itself; the norm is that of all together."
)
def _(model, optimizer, micro_batches, total_tokens, lr, clip):
    optimizer.param_groups[0]["lr"] = lr
    loss = accumulate(model, micro_batches, total_tokens)
    for p in model.parameters():
        torch.nn.utils.clip_grad_norm_([p], clip)
    optimizer.step()
    optimizer.zero_grad()
    return loss


@EXERCISE.mutant(
    "always scaled to the limit",
    "Your gradients are scaled to the limit also where they are below it; clipping only makes long ones "
    "shorter.",
)
def _(model, optimizer, micro_batches, total_tokens, lr, clip):
    optimizer.param_groups[0]["lr"] = lr
    loss = accumulate(model, micro_batches, total_tokens)
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    for p in model.parameters():
        p.grad.mul_(clip / norm)
    optimizer.step()
    optimizer.zero_grad()
    return loss


# Properties.

LR = (0.3, 0.02, 0.11)


@EXERCISE.property("one step, after the backward passes of all micro-batches", 4)
def _(answer: Answer, draw: Draw) -> None:
    events, _ = _play(answer, draw, clip=1e6)
    for number, told in enumerate(events):
        steps = [i for i, event in enumerate(told) if event.startswith("step")]
        passes = [i for i, event in enumerate(told) if event == "backward"]
        case = expect.case(draw, f"step {number}, 3 micro-batches")
        if len(steps) != 1:
            raise expect.wrong(f"{len(steps)} optimizer steps for one call; there should be one", case)
        if len(passes) != 3 or max(passes) > steps[0]:
            before = sum(i < steps[0] for i in passes)
            raise expect.wrong(f"{before} backward passes before the step instead of 3", case)
    _weights(answer, draw, clip=1e6, lrs=LR[:1])


@EXERCISE.property("the learning rate of this step", 2)
def _(answer: Answer, draw: Draw) -> None:
    events, _ = _play(answer, draw, clip=1e6)
    for number, told in enumerate(events):
        step = next((event for event in told if event.startswith("step")), "no step")
        if f"lr={LR[number]:.6g} " not in step:
            case = expect.case(draw, f"step {number} at rate {LR[number]}")
            raise expect.wrong(
                f"the optimizer was told {step.split(' norm')[0]!r}", case, "Set it before the step."
            )


@EXERCISE.property("clipped once, on the sum of all micro-batches", 3)
def _(answer: Answer, draw: Draw) -> None:
    _weights(
        answer,
        draw,
        clip=0.05,
        lrs=LR[:1],
        hint="The norm of all gradients together, after the last backward.",
    )
    _weights(answer, draw, clip=50.0, lrs=LR[:1], hint="A gradient below the limit is left alone.")


@EXERCISE.property("nothing is left for the next step", 2)
def _(answer: Answer, draw: Draw) -> None:
    _weights(answer, draw, clip=0.4, lrs=LR, hint="Each step starts without gradients.")
    _, came = _play(answer, draw, clip=0.4)
    if any(gradient is not None and bool(gradient.any()) for gradient in came["left"]):
        raise expect.wrong("gradients are left after the step", expect.case(draw), "Clear them at the end.")


# Oracle.


def _data(draw: Draw, lrs: tuple[float, ...]):
    rng = draw.rng
    return batches.weights(rng), [(batches.uneven(rng, 5, 12, 2), lr) for lr in lrs]


def _play(answer: Answer, draw: Draw, clip: float) -> tuple[list[list[str]], dict]:
    weights, steps = _data(draw, LR)
    came = answer.drive("week02.train_steps", weights, steps, clip)
    return came["events"], came


def _weights(answer: Answer, draw: Draw, clip: float, lrs: tuple[float, ...], hint: str = "") -> None:
    weights, steps = _data(draw, lrs)
    came = answer.drive("week02.train_steps", weights, steps, clip)
    right: tuple[Tensor, ...] = tuple(w.clone() for w in weights)
    for number, (micro, lr) in enumerate(steps):
        gradients = batches.oracle(right, micro)[1]
        norm = torch.stack([g.norm() for g in gradients]).norm().item()
        share = min(1.0, clip / norm)
        right = tuple(w - lr * share * g for w, g in zip(right, gradients, strict=True))
        case = expect.case(draw, f"weights after step {number}", clip=clip)
        for name, got, wanted in zip(("embedding", "head"), came["weights"][number], right, strict=True):
            # clip_grad_norm_ adds 1e-6 to the norm that it divides by
            loose = torch.full_like(wanted, 4e-6 / max(norm, 1e-3)) * (wanted.abs() + lr)
            if bool(((got - wanted).abs() > loose).any()):
                worst = float((got - wanted).abs().max())
                raise expect.wrong(f"the {name} differs from the right step by up to {worst:.3g}", case, hint)
