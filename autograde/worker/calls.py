"""One call of a student's function: the outcome as plain data, and what the call disturbed.

What a student's function changes outside its return value is noticed and put back: arguments, the default
dtype, gradient mode, and the global random states of torch, numpy and Python.
"""

from __future__ import annotations

import builtins
import linecache
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import torch

from . import codec

MAX_TEXT = 2_000
DRIVERS = "lmcourse.checks.drivers"
MISSING = "missing name"  # the kind of error where the student's cell left a name undefined


def perform(function: Callable, args: tuple, kwargs: dict, file: str = "") -> dict:
    """Call and describe: `value` or `error`, `changed` arguments by position or name, `manners` in words.

    The arguments must already be copies that belong to this call. Errors show the last line that ran of
    `file`, by default the function's own.
    """
    before = _fingerprints(args, kwargs)
    manners: list[str] = []
    with _watched(manners):
        reply = attempt(lambda: function(*args, **kwargs), file or _file_of(function))
    after = _fingerprints(args, kwargs)
    reply["changed"] = {key: _argument(key, args, kwargs) for key in before if before[key] != after[key]}
    reply["manners"] = manners
    return reply


def drive(names: Mapping[str, Any], entry: str, args: tuple) -> dict:
    """The same for a driver, which hands the student's names what no message carries, such as a model.

    A driver is open code of the student's side that only carries: `args` are its name, as
    "week02.accumulate", and plain data for it. Whether the outcome is right is decided where it arrives.
    """
    module, _, name = args[0].partition(".")
    driver = getattr(import_module(f"{DRIVERS}.{module}"), name)
    reply = perform(partial(driver, names), args[1:], {}, _file_of(names[entry]))
    reply["changed"] = {}  # the arguments are the driver's, not the student's
    return reply


def attempt(thunk: Callable[[], Any], file: str = "") -> dict:
    """`{"value": ...}`, or `{"error": {"kind", "message", "assertion"}}` whatever was raised."""
    try:
        return {"value": thunk()}
    except BaseException as error:  # SystemExit and KeyboardInterrupt are a student's exceptions here too
        return {"error": describe(error, file)}


def missing(name: str) -> dict:
    """The reply to a question about a name that does not exist."""
    error = {"kind": MISSING, "message": f"`{name}` is not defined", "assertion": False}
    return {"error": error, "changed": {}, "manners": []}


def encode(reply: dict, callbacks: dict | None = None, caps: codec.Caps = codec.CAPS) -> bytes:
    """The bytes of a reply; a value that does not cross becomes an error in words."""
    try:
        return codec.dumps(reply, callbacks, caps)
    except BaseException as error:  # a hostile __len__ or __iter__ may raise anything
        reason = str(error) if type(error) is codec.Unencodable else f"a value that raised {kind_of(error)}"
    message = f"it gave {reason}, which cannot be handed over; plain numbers, lists, arrays and tensors can"
    fallback = {
        **reply,
        "error": {"kind": "TypeError", "message": message, "assertion": False},
        "changed": {},
    }
    fallback.pop("value", None)
    return codec.dumps(fallback)


def describe(error: BaseException, file: str = "") -> dict:
    """An exception as text. Its own methods may be broken or hostile, so nothing here can raise."""
    try:
        in_source = type(error) in (SyntaxError, IndentationError, TabError)  # str() would name a cell file
        message = str.__str__(error.msg if in_source else str(error))
        if in_source:
            message += f" (line {error.lineno}: {(error.text or '').strip()[:120]})"
    except BaseException:
        message = "(its message cannot be shown)"
    line = _line_in(error, file) if file else ""
    assertion = isinstance(error, AssertionError)
    return {"kind": kind_of(error), "message": (message[:MAX_TEXT] + line).strip(), "assertion": assertion}


def kind_of(error: BaseException) -> str:
    return str.__str__(type.__dict__["__name__"].__get__(type(error)))[:100]


def _file_of(function: Callable) -> str:
    try:
        return function.__code__.co_filename
    except Exception:  # a callable object, or one that answers every question with an error
        return ""


def _line_in(error: BaseException, file: str) -> str:
    """The last line of the student's own file that the exception passed through."""
    try:
        found, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == file:
                found = trace.tb_lineno
            trace = trace.tb_next
        text = linecache.getline(file, found).strip()[:120] if found else ""
        return f" (line {found}: {text})" if text else ""
    except Exception:
        return ""


def _argument(key: int | str, args: tuple, kwargs: dict) -> Any:
    value = kwargs[key] if isinstance(key, str) else args[key]
    try:
        codec.dumps(value)
    except Exception:
        return None
    return value


def _fingerprints(args: tuple, kwargs: dict) -> dict[int | str, bytes | None]:
    """Bytes that tell whether an argument changed; a generator is there to be advanced, so it has none."""
    named = {**dict(enumerate(args)), **kwargs}
    return {key: _fingerprint(value) for key, value in named.items()}


def _fingerprint(value: Any) -> bytes | None:
    if isinstance(value, torch.Generator):
        return None
    try:
        return codec.dumps(value, {})
    except Exception:
        return b"no longer plain data"


@contextmanager
def _watched(manners: list[str]) -> Iterator[None]:
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    torch_state, numpy_state, python_state = torch.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        if torch.get_default_dtype() is not dtype:
            manners.append(f"left torch's default dtype at {torch.get_default_dtype()}".replace("torch.", ""))
            torch.set_default_dtype(dtype)
        if torch.is_grad_enabled() is not grad:
            manners.append(f"left gradients switched {'on' if torch.is_grad_enabled() else 'off'}")
            torch.set_grad_enabled(grad)
        if not torch.equal(torch.get_rng_state(), torch_state):
            manners.append("used torch's global random state")
            torch.set_rng_state(torch_state)
        if not _same_state(np.random.get_state(), numpy_state):
            manners.append("used numpy's global random state")
            np.random.set_state(numpy_state)
        if random.getstate() != python_state:
            manners.append("used Python's global random state")
            random.setstate(python_state)


def _same_state(left: tuple, right: tuple) -> bool:
    return left[0] == right[0] and left[2:] == right[2:] and bool(np.array_equal(left[1], right[1]))


def unwrap(reply: dict) -> Any:
    """What a call to the other side gave: its value, or its exception raised anew by name."""
    error = reply.get("error")
    if error is None:
        return reply["value"]
    known = getattr(builtins, error["kind"], None)
    safe = isinstance(known, type) and issubclass(known, Exception)
    try:
        again = known(error["message"]) if safe else RuntimeError(f"{error['kind']}: {error['message']}")
    except TypeError:  # an exception that wants other arguments
        again = RuntimeError(f"{error['kind']}: {error['message']}")
    raise again
