from functools import partial

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.model.compiling import compiled, what_is_missing


def test_compiled_training_is_the_same_function_and_evaluation_stays_eager(monkeypatch):
    """With all of the compiler but the C++ at its end, which would take half a minute."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    config = TransformerConfig(20, context=8, layers=1, heads=2, width=16, mlp="relu2")
    tokens = torch.randint(20, (2, 8), generator=torch.Generator().manual_seed(0))
    eager, fast = Transformer(config), Transformer(config)
    fast.compile_training()
    gradients = []
    for model in (eager, fast):
        logits = model(tokens)
        logits.square().sum().backward()
        gradients.append([p.grad for p in model.parameters()])
    assert torch.allclose(eager(tokens), fast(tokens), atol=1e-5)
    for got, expected in zip(*gradients, strict=True):
        assert torch.allclose(got, expected, atol=1e-5)
    assert eager.state_dict().keys() == fast.state_dict().keys()
    assert torch.equal(eager.eval()(tokens), fast.eval()(tokens))


def test_an_error_of_the_function_is_not_blamed_on_the_compiler(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)

    def wrong(x: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        compiled(wrong)(torch.zeros(1))


def test_a_compiler_that_fails_is_one_line(monkeypatch):
    broken = type("CppCompileError", (RuntimeError,), {"__module__": "torch._inductor.exc"})

    def fails(function, **options):
        def call(*args):
            raise broken("C++ compile error\nlong output")

        return call

    monkeypatch.setattr(torch, "compile", fails)
    with pytest.raises(CourseError, match=r"compile: the compiler failed \(C\+\+ compile error\)"):
        compiled(torch.relu)(torch.zeros(1))


def test_a_machine_without_compiler_is_noticed(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "compiler" in what_is_missing()
