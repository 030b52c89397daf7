"""W3.4, master weights: a float32 copy takes the updates, the model gets its rounding."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W3.4")


class MasterWeights:
    """The right one, with faults that mutants switch on."""

    own_memory = True
    master_dtype = torch.float32
    fresh_each_step = False
    syncs = True
    casts_gradient = True
    updates_model = False
    factor = 1.0
    keeps_state = True
    loads_model = False

    def __init__(self, params):
        self.params = params
        self.master = [p.detach().to(self.master_dtype, copy=self.own_memory) for p in params]

    def step(self, lr, grads):
        if self.fresh_each_step:
            self.master = [p.detach().to(self.master_dtype) for p in self.params]
        for master, param, grad in zip(self.master, self.params, grads, strict=True):
            if self.updates_model:
                param.sub_((lr * grad.float()).to(param.dtype))
                master.copy_(param)
                continue
            scaled = lr * grad.float() if self.casts_gradient else (lr * grad).float()
            master.sub_(self.factor * scaled)
        if self.syncs:
            self.sync()

    def sync(self):
        for master, param in zip(self.master, self.params, strict=True):
            param.copy_(master)

    def state_dict(self):
        kept = self.master if self.keeps_state else self.params
        return {"master": [m.clone() for m in kept]}

    def load_state_dict(self, state):
        for master, saved in zip(self.master, state["master"], strict=True):
            master.copy_(saved)
        self.sync()


EXERCISE.set_reference(MasterWeights=MasterWeights)


def _with(**faults) -> type:
    return type("MasterWeights", (MasterWeights,), faults)


class _Functional:
    """Another right one: new tensors instead of writing in place, parameters as a dictionary."""

    def __init__(self, params):
        self._params = dict(enumerate(params))
        self.master = [p.clone().float() for p in params]

    def step(self, lr, grads):
        self.master = [m - lr * g.to(torch.float32) for m, g in zip(self.master, grads, strict=True)]
        self.sync()

    def sync(self):
        for i, p in self._params.items():
            p.data.copy_(self.master[i].to(torch.bfloat16))

    def state_dict(self):
        return dict(enumerate(self.master))

    def load_state_dict(self, state):
        self.master = [state[i].clone() for i in range(len(state))]
        self.sync()


EXERCISE.variant("new tensors", "masters are replaced at each step instead of changed in place")(_Functional)


class _Flat:
    """And one that keeps all masters in one vector."""

    def __init__(self, params):
        self.params = params
        self.flat = torch.cat([p.detach().float().flatten() for p in params])

    @property
    def master(self):
        sizes = [p.numel() for p in self.params]
        return [part.view_as(p) for part, p in zip(self.flat.split(sizes), self.params, strict=True)]

    def step(self, lr, grads):
        self.flat -= lr * torch.cat([g.float().flatten() for g in grads])
        self.sync()

    def sync(self):
        for p, m in zip(self.params, self.master, strict=True):
            p.copy_(m.bfloat16())

    def state_dict(self):
        return {"flat": self.flat.clone()}

    def load_state_dict(self, state):
        self.flat.copy_(state["flat"])
        self.sync()


EXERCISE.variant("one vector", "all masters lie behind one another in one vector")(_Flat)

for _name, _note, _faults in (
    (
        "updates the copy",
        "Your step moves the bfloat16 weights and reads the masters from them: small updates are "
        "lost, as without masters.",
        {"updates_model": True},
    ),
    (
        "masters made anew",
        "Your masters are made anew from the bfloat16 weights at each step, so nothing is kept "
        "between steps.",
        {"fresh_each_step": True},
    ),
    (
        "no sync",
        "Your model's weights never change: after the step they must be the masters, rounded.",
        {"syncs": False},
    ),
    (
        "bfloat16 masters",
        "Your masters are bfloat16 themselves; they must be float32.",
        {"master_dtype": torch.bfloat16},
    ),
    ("float16 masters", "Your masters are float16; they must be float32.", {"master_dtype": torch.float16}),
    (
        "product in bfloat16",
        "Your product lr * grad is computed in bfloat16; cast the gradient to float32 first.",
        {"casts_gradient": False},
    ),
    ("applied twice", "Your update is applied twice.", {"factor": 2.0}),
    ("wrong sign", "Your step goes up the gradient instead of down.", {"factor": -1.0}),
    (
        "state of the copy",
        "Your state holds the bfloat16 weights; after loading, what the masters knew beyond them is gone.",
        {"keeps_state": False},
    ),
):
    EXERCISE.mutant(_name, _note)(_with(**_faults))


class _Replaces(MasterWeights):
    def sync(self):
        self.params = [m.bfloat16() for m in self.master]


EXERCISE.mutant(
    "new model tensors",
    "Your sync makes new tensors instead of writing into the model's own (`copy_`), so the model never sees "
    "them.",
)(_Replaces)


class _Truncates(MasterWeights):
    def sync(self):
        for master, param in zip(self.master, self.params, strict=True):
            param.copy_((master.contiguous().view(torch.int32) & -(2**16)).view(torch.float32))


EXERCISE.mutant("cuts instead of rounding", "Your model weights are cut off, not rounded to the nearest.")(
    _Truncates
)


class _Forgets(MasterWeights):
    def load_state_dict(self, state):
        pass


EXERCISE.mutant("load does nothing", "Your load_state_dict does not take the masters over.")(_Forgets)


class _Late(MasterWeights):
    def step(self, lr, grads):
        self.sync()
        for master, grad in zip(self.master, grads, strict=True):
            master.sub_(lr * grad.float())


EXERCISE.mutant("sync one step late", "Your model is one step behind its masters: sync after the update.")(
    _Late
)


class _FirstOnly(MasterWeights):
    def step(self, lr, grads):
        self.master[0].sub_(lr * grads[0].float())
        self.sync()


EXERCISE.mutant("first weight only", "Your step moves only the first of the weights.")(_FirstOnly)


# Properties.


def _weights(draw: Draw) -> list[Tensor]:
    generator = draw.generator()
    shapes = ((5,), (3, 4), (2, 2, 3))
    return [torch.randn(shape, generator=generator).bfloat16() for shape in shapes]


def _steps(draw: Draw, n: int, lr: float) -> list[tuple[float, list[Tensor]]]:
    generator = draw.generator(1)
    shapes = [w.shape for w in _weights(draw)]
    return [
        (lr * (1 + k / n), [torch.randn(s, generator=generator).bfloat16() for s in shapes]) for k in range(n)
    ]


def _oracle(weights: list[Tensor], steps) -> tuple[list[list[Tensor]], list[Tensor]]:
    """The model after each step, and the masters at the end, in float32 as the contract has them."""
    masters, seen = [w.float() for w in weights], []
    for lr, gradients in steps:
        masters = [m - lr * g.float() for m, g in zip(masters, gradients, strict=True)]
        seen.append([m.bfloat16() for m in masters])
    return seen, masters


def _model_equal(came: dict, weights: list[Tensor], steps, case: str, hint: str) -> None:
    right, masters = _oracle(weights, steps)
    for number, (got, wanted) in enumerate(zip(came["weights"], right, strict=True)):
        for index, (g, w) in enumerate(zip(got, wanted, strict=True)):
            expect.dtype(g, torch.bfloat16, what=f"weight {index}", case=case)
            # float32 arithmetic in another order may differ in the last bit, and then round to a neighbor
            off = (g.float() - w.float()).abs() > 2.0**-7 * w.float().abs().clamp(min=1e-3) * 1.01
            if bool(off.any()) or float((g != w).float().mean()) > 0.2:
                raise expect.wrong(
                    f"weight {index} of the model is wrong after step {number + 1}", case, hint
                )
    for index, (m, wanted) in enumerate(zip(came["master"], masters, strict=True)):
        expect.dtype(m, torch.float32, what=f"master {index}", case=case)
        expect.close(m, wanted.double(), terms=len(steps), what=f"master {index}", case=case, hint=hint)


@EXERCISE.property("small updates add up", 3)
def _(answer: Answer, draw: Draw) -> None:
    weights, step = [torch.ones(4).bfloat16()], (1.0, [torch.full((4,), -0.001).bfloat16()])
    case = expect.case(draw, "1.0 and 400 updates of 0.001")
    came = answer.drive("week03.master_weights", weights, [step] * 400)
    _model_equal(came, weights, [step] * 400, case, "The master keeps what bfloat16 cannot.")


@EXERCISE.property("the model is the masters, rounded, after each step", 3)
def _(answer: Answer, draw: Draw) -> None:
    weights, steps = _weights(draw), _steps(draw, 12, 0.02)
    came = answer.drive("week03.master_weights", weights, steps)
    _model_equal(came, weights, steps, expect.case(draw, "three weights, 12 steps"), "")
    if came["shared"]:
        raise expect.wrong("a master lies in the memory of its weight", expect.case(draw))


@EXERCISE.property("interrupted and continued, bit for bit", 2)
def _(answer: Answer, draw: Draw) -> None:
    weights, steps = _weights(draw), _steps(draw, 10, 0.002)
    case = expect.case(draw, "saved after 4 of 10 steps")
    straight = answer.drive("week03.master_weights", weights, steps)
    resumed = answer.drive("week03.master_weights", weights, steps, 4)
    _model_equal(straight, weights, steps, case, "")
    for a, b in zip(straight["master"], resumed["master"], strict=True):
        if not torch.equal(a, b):
            hint = "The state must hold the masters, not what the model shows of them."
            raise expect.wrong("after loading, the masters are not what they were", case, hint)
