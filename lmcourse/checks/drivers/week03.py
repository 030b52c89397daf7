"""Week 3: master weights, loss scalers and a mixed-precision step, driven by plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Gradients = Sequence[Tensor]  # one for each parameter


def master_weights(
    names: Mapping[str, Any],
    weights: Sequence[Tensor],
    steps: Sequence[tuple[float, Gradients]],
    interrupt_after: int | None = None,
) -> dict[str, Any]:
    """Run the student's `MasterWeights` for a few steps of gradient descent.

    Args:
        weights: the model's bfloat16 weights.
        steps: learning rate and gradients of each.
        interrupt_after: save after so many steps, and go on with a new object that loads the state.

    Returns:
        "weights": the model's own tensors after each step; "master": copies of the masters at the end;
        "shared": whether a master and its weight lie in the same memory.
    """
    model = [weight.clone() for weight in weights]
    keeper = names["MasterWeights"](model)
    seen = []
    for number, (lr, gradients) in enumerate(steps):
        if number == interrupt_after:
            state = _copied(keeper.state_dict())
            keeper = names["MasterWeights"](model)
            keeper.load_state_dict(state)
        keeper.step(lr, [gradient.clone() for gradient in gradients])
        seen.append([weight.clone() for weight in model])
    shared = any(m.data_ptr() == w.data_ptr() for m, w in zip(keeper.master, model, strict=True))
    return {"weights": seen, "master": [m.detach().clone() for m in keeper.master], "shared": shared}


def scaler_run(
    names: Mapping[str, Any],
    weights: Sequence[Tensor],
    steps: Sequence[tuple[Gradients, bool]],
    settings: Mapping[str, float],
    clip: float = 1e9,
    interrupt_after: int | None = None,
    scaler: Callable | None = None,
) -> list[dict[str, Any]]:
    """Run a loss scaler through a training with Adam, without any model.

    Args:
        weights: float32.
        steps: true gradients of each step, and whether the scaled ones overflow: the first element of the
            last gradient becomes infinite then (NaN in every second overflow).
        settings: keyword arguments of the scaler.
        clip: largest norm after unscaling.
        interrupt_after: save the scaler after so many steps and go on with a new one that loads its state.
        scaler: class to use instead of the student's `DynamicScaler`.

    Returns:
        One dictionary a step: factor on the loss, gradients after `unscale_`, what it found, weights, Adam's
        moments and step count, and the scale after `update`.
    """
    make = scaler or names["DynamicScaler"]
    parameters = [nn.Parameter(weight.clone()) for weight in weights]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    own = make(**settings)
    trace, overflows = [], 0
    for number, (gradients, overflow) in enumerate(steps):
        if number == interrupt_after:
            state = dict(own.state_dict())
            own = make(**settings)
            own.load_state_dict(state)
        factor = float(own.scale_loss(torch.ones(())))
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient * factor
        if overflow:
            parameters[-1].grad.view(-1)[0] = float("nan") if overflows % 2 else float("inf")
            overflows += 1
        found = bool(own.unscale_(parameters))
        unscaled = [parameter.grad.clone() for parameter in parameters]
        if not found:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        own.step(optimizer)
        own.update()
        optimizer.zero_grad()
        moments = [optimizer.state[p] for p in parameters]
        trace.append(
            {
                "factor": factor,
                "found": found,
                "gradients": unscaled,
                "weights": [p.detach().clone() for p in parameters],
                "steps": [float(m["step"]) if m else 0.0 for m in moments],
                "first": [m["exp_avg"].clone() if m else torch.zeros(0) for m in moments],
                "scale": float(own.scale),
            }
        )
    return trace


class TracedModel(nn.Module):
    """(B, T) int64 -> (B, T, V) logits; notes in which types it computes."""

    def __init__(self, embedding: Tensor, head: Tensor) -> None:
        super().__init__()
        self.embedding = nn.Parameter(embedding.clone())
        self.head = nn.Parameter(head.clone())
        self.told: dict[str, str] = {}

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = torch.tanh(self.embedding[tokens])
        logits = hidden @ self.head
        self.told["product"] = _name(logits.dtype)
        logits.register_hook(self._in_backward)
        return logits

    def _in_backward(self, gradient: Tensor) -> None:
        self.told["autocast in backward"] = _on()


class TracedSGD(torch.optim.SGD):
    """Plain SGD that notes whether it steps under autocast, and on which type of gradient."""

    told: dict[str, str]

    def step(self, closure: Any = None) -> None:
        parameter = self.param_groups[0]["params"][0]
        self.told["autocast in step"] = _on()
        self.told["gradients"] = "none" if parameter.grad is None else _name(parameter.grad.dtype)
        self.told["steps"] = str(int(self.told.get("steps", "0")) + 1)
        super().step(closure)


def mixed_step(
    names: Mapping[str, Any],
    weights: tuple[Tensor, Tensor],
    batches: Sequence[tuple[Tensor, Tensor]],
    lr: float,
) -> dict[str, Any]:
    """Run the student's `mixed_step` once for each batch.

    Returns:
        "told": types and autocast by place, as text; "losses"; "weights" after the last step.
    """
    model = TracedModel(*weights)
    optimizer = TracedSGD(model.parameters(), lr=lr)
    optimizer.told = model.told
    losses = []
    for inputs, targets in batches:
        loss = names["mixed_step"](model, optimizer, inputs, targets)
        model.told["loss"] = _name(loss.dtype) if isinstance(loss, Tensor) else type(loss).__name__
        losses.append(loss.item() if isinstance(loss, Tensor) else float(loss))
    model.told["parameters"] = _name(model.head.dtype)
    left = any(p.grad is not None and bool(p.grad.any()) for p in model.parameters())
    after = [p.detach().float() for p in model.parameters()]
    return {"told": dict(model.told), "losses": losses, "weights": after, "left": left}


def try_scaler_test(names: Mapping[str, Any], implementation: Callable) -> Any:
    """Give the student's `test_scaler` a class whose methods are decided elsewhere, by plain numbers."""

    class Scaler:
        """What W3.5 asks for; see there."""

        def __init__(
            self, scale: float = 2.0**16, growth: float = 2.0, backoff: float = 0.5, interval: int = 200
        ):
            self._state = implementation("new", {}, scale, growth, backoff, interval)[0]

        def _ask(self, method: str, *args: Any) -> Any:
            self._state, answer = implementation(method, self._state, *args)
            return answer

        @property
        def scale(self) -> float:
            return self._ask("scale")

        def scale_loss(self, loss: Tensor) -> Tensor:
            return loss * self._ask("scale_loss")

        def unscale_(self, parameters: Sequence[Tensor]) -> bool:
            present = [p for p in parameters if p.grad is not None]
            gradients, found = self._ask("unscale_", [p.grad for p in present])
            for parameter, gradient in zip(present, gradients, strict=True):
                parameter.grad = gradient
            return found

        def step(self, optimizer: torch.optim.Optimizer) -> None:
            parameters = [
                p for group in optimizer.param_groups for p in group["params"] if p.grad is not None
            ]
            go, gradients = self._ask("step", [p.grad for p in parameters])
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            if go:
                optimizer.step()

        def update(self) -> None:
            self._ask("update")

        def state_dict(self) -> dict:
            return self._ask("state_dict")

        def load_state_dict(self, state: dict) -> None:
            self._ask("load_state_dict", state)

    return names["test_scaler"](Scaler)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean nats over all places of (B, T, V) logits."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def _copied(state: Any) -> Any:
    """A state as a file would bring it back: no memory shared with the object."""
    if isinstance(state, Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(_copied(value) for value in state)
    return state


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _on() -> str:
    return "on" if torch.is_autocast_enabled("cpu") else "off"
