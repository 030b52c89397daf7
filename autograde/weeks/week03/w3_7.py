"""W3.7, repair a mixed-precision step: what belongs under autocast, and what does not."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W3.7")


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def _step(
    model,
    optimizer,
    inputs,
    targets,
    *,
    whole_model=False,
    loss_narrow=False,
    backward_inside=False,
    step_inside=False,
    autocast=True,
    clears=True,
):
    """The step with the notebook's faults switched on one by one."""
    if whole_model:
        model.bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        logits = model(inputs)
        if loss_narrow:
            nats = logits.bfloat16().log_softmax(-1).to(torch.bfloat16)
            loss = -nats.gather(-1, targets[..., None]).mean().bfloat16()
        if backward_inside:
            if not loss_narrow:
                loss = _cross_entropy(logits.float(), targets)
            loss.backward()
        if step_inside:
            if not backward_inside:
                if not loss_narrow:
                    loss = _cross_entropy(logits.float(), targets)
                with torch.autocast("cpu", enabled=False):
                    loss.backward()
            optimizer.step()
    if not (loss_narrow or backward_inside or step_inside):
        loss = _cross_entropy(logits.float(), targets)
    if not (backward_inside or step_inside):
        loss.backward()
    if not step_inside:
        optimizer.step()
    if clears:
        optimizer.zero_grad()
    return loss.detach()


def mixed_step(model, optimizer, inputs, targets):
    return _step(model, optimizer, inputs, targets)


EXERCISE.set_reference(mixed_step)


@EXERCISE.variant("loss under autocast", "logits made float32 inside the block, gradients cleared first")
def _(model, optimizer, inputs, targets):
    optimizer.zero_grad(set_to_none=False)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        loss = _cross_entropy(model(inputs).float(), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


@EXERCISE.variant("by hand", "log-softmax in float32, a dictionary of nothing, gradients set to None by hand")
def _(model, optimizer, inputs, targets):
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(inputs)
    logp = torch.log_softmax(logits, dim=-1, dtype=torch.float32)
    loss = -logp.gather(-1, targets[..., None]).mean()
    loss.backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
    return loss


for _name, _note, _faults in (
    (
        "as handed out",
        "Your step is as it was handed out: four things are wrong in it.",
        {"whole_model": True, "loss_narrow": True, "backward_inside": True, "step_inside": True},
    ),
    (
        "whole model in bfloat16",
        "Your model is converted to bfloat16 as a whole: its weights lose their small updates, as in W3.4.",
        {"whole_model": True},
    ),
    (
        "loss in bfloat16",
        "Your loss is computed in bfloat16, with two or three digits: make the logits float32 first.",
        {"loss_narrow": True},
    ),
    (
        "backward under autocast",
        "Your backward pass runs under autocast; only the forward pass belongs there.",
        {"backward_inside": True},
    ),
    (
        "step under autocast",
        "Your optimizer steps under autocast; it belongs behind the block.",
        {"step_inside": True},
    ),
    (
        "no autocast",
        "Your forward pass runs in float32: nothing is under autocast any more.",
        {"autocast": False},
    ),
    ("never cleared", "Your gradients are not cleared, so they add up from step to step.", {"clears": False}),
):

    @EXERCISE.mutant(_name, _note)
    def _(model, optimizer, inputs, targets, _faults=_faults):
        return _step(model, optimizer, inputs, targets, **_faults)


@EXERCISE.mutant("no step", "Your optimizer never steps.")
def _(model, optimizer, inputs, targets):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(inputs)
    loss = _cross_entropy(logits.float(), targets)
    loss.backward()
    optimizer.zero_grad()
    return loss.detach()


@EXERCISE.mutant("float16 instead", "Your block computes in float16; bfloat16 is asked for.")
def _(model, optimizer, inputs, targets):
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(inputs)
    loss = _cross_entropy(logits.float(), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


# Properties.


def _data(draw: Draw, n: int = 1):
    generator = draw.generator()
    V, D = 7, 6
    weights = (torch.randn(V, D, generator=generator), torch.randn(D, V, generator=generator))
    batches = [tuple(torch.randint(V, (2, 3, 5), generator=generator)) for _ in range(n)]
    return weights, batches


def _told(answer: Answer, draw: Draw, n: int = 1) -> dict:
    weights, batches = _data(draw, n)
    return answer.drive("week03.mixed_step", weights, batches, 0.1)


def _expect(told: dict[str, str], wanted: dict[str, str], case: str, hint: str) -> None:
    for place, right in wanted.items():
        if told.get(place) != right:
            raise expect.wrong(f"{place}: {told.get(place, 'never happened')} instead of {right}", case, hint)


@EXERCISE.property("matrix products in bfloat16, parameters and gradients in float32", 2)
def _(answer: Answer, draw: Draw) -> None:
    wanted = {"product": "bfloat16", "parameters": "float32", "gradients": "float32"}
    _expect(
        _told(answer, draw)["told"],
        wanted,
        expect.case(draw, "one step"),
        "autocast converts for each product; the parameters stay as they are.",
    )


@EXERCISE.property("the loss in float32", 2)
def _(answer: Answer, draw: Draw) -> None:
    came, case = _told(answer, draw), expect.case(draw, "one step")
    _expect(came["told"], {"loss": "float32"}, case, "Make the logits float32 before the softmax.")
    (embedding, head), batches = _data(draw)
    logits = torch.tanh(embedding[batches[0][0]]).bfloat16() @ head.bfloat16()
    right = float(_cross_entropy(logits.double(), batches[0][1]))
    if abs(came["losses"][0] - right) > 1e-3 * right:
        raise expect.wrong(
            f"the loss is {came['losses'][0]:.5f}, far from what the bfloat16 logits give", case
        )


@EXERCISE.property("backward and step outside autocast", 2)
def _(answer: Answer, draw: Draw) -> None:
    wanted = {"autocast in backward": "off", "autocast in step": "off", "steps": "1"}
    _expect(
        _told(answer, draw)["told"],
        wanted,
        expect.case(draw, "one step"),
        "Leave the block before backward().",
    )


@EXERCISE.property("three steps end where they should", 2)
def _(answer: Answer, draw: Draw) -> None:
    weights, batches = _data(draw, 3)
    came, case = _told(answer, draw, 3), expect.case(draw, "three steps")
    right = [w.double() for w in weights]
    for inputs, targets in batches:
        leaves = [w.clone().requires_grad_() for w in right]
        loss = _cross_entropy(torch.tanh(leaves[0][inputs]) @ leaves[1], targets)
        right = [w - 0.1 * g for w, g in zip(right, torch.autograd.grad(loss, leaves), strict=True)]
    for name, got, wanted, start in zip(("embedding", "head"), came["weights"], right, weights, strict=True):
        moved = (wanted - start.double()).norm()
        # Products in bfloat16 are good to about two digits, and so is what the weights moved by.
        if float((got.double() - wanted).norm() / moved) > 0.1:
            raise expect.wrong(
                f"the {name} moved by something else than three steps of gradient descent",
                case,
                "Clear the gradients after each step.",
            )
    if came["left"]:
        raise expect.wrong("gradients are left after the last step", case)
