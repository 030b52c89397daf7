"""Lets the judge know when a function of the course runs that an exercise forbids to call.

Every function of the course is compiled with one more statement at its start, a call of the guard, which sits
among the constants of its code. So it is the running code that is watched and not a name: an alias made in an
earlier cell, a partial, another thread, a reloaded module or a function made from the same code object all
carry the guard along. What it cannot see is code that was compiled anew from a copy of the source text.
"""

from __future__ import annotations

import ast
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Callable, Sequence

WATCHED = "lmcourse"
PLACEHOLDER = "the guard's place among the constants"


class Guard:
    """Called with the full name of the function that has just begun to run."""

    __slots__ = ("forbidden", "report")

    def __init__(self) -> None:
        self.forbidden: tuple[str, ...] = ()
        self.report: Callable[[str], None] | None = None

    def __call__(self, name: str) -> None:
        for forbidden in self.forbidden:
            if name == forbidden or name.startswith(f"{forbidden}."):
                self.report(forbidden)


def install() -> Guard:
    """Watch all functions of the course that are imported from now on."""
    guard = Guard()
    sys.meta_path.insert(0, _Finder(guard))
    return guard


class _Finder:
    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None):
        if name != WATCHED and not name.startswith(f"{WATCHED}."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(name, spec.origin, self.guard)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, guard: Guard) -> None:
        super().__init__(name, path)
        self.guard = guard

    def get_code(self, name: str) -> types.CodeType:
        path = self.get_filename(name)
        return guarded(self.get_data(path), path, name, self.guard)


def guarded(source: bytes, path: str, module: str, guard: Guard) -> types.CodeType:
    """The code of a module whose functions and methods tell the guard when they begin to run."""
    tree = ast.parse(source, path)
    _add_calls(tree.body, module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # the placeholder is a text, and texts are not called
        code = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    return _put_in(code, guard)


def _add_calls(body: list[ast.stmt], prefix: str) -> None:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            _add_calls(statement.body, f"{prefix}.{statement.name}")
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            first = statement.body[0]
            call = ast.Call(ast.Constant(PLACEHOLDER), [ast.Constant(f"{prefix}.{statement.name}")], [])
            at = int(ast.get_docstring(statement, clean=False) is not None)
            statement.body.insert(at, ast.copy_location(ast.Expr(ast.copy_location(call, first)), first))


def _put_in(code: types.CodeType, guard: Guard) -> types.CodeType:
    def exchanged(constant: object) -> object:
        if type(constant) is types.CodeType:
            return _put_in(constant, guard)
        return guard if type(constant) is str and constant == PLACEHOLDER else constant

    return code.replace(co_consts=tuple(exchanged(constant) for constant in code.co_consts))
