"""What can be seen in a cell's source without running it."""

from __future__ import annotations

import ast
import warnings


def normalized(source: str) -> str:
    """The source without differences that mean nothing: line ends, trailing blanks, blank ends."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def same_code(left: str, right: str) -> bool:
    """Equal up to comments and layout; sources that are not Python (magics, errors) are compared as text."""
    if normalized(left) == normalized(right):
        return True
    trees = [parsed(left), parsed(right)]
    if None in trees:
        return False
    return ast.dump(trees[0]) == ast.dump(trees[1])


def defined_names(source: str) -> set[str]:
    """Names that the cell binds at its top level: functions, classes, variables, imports."""
    tree = parsed(source)
    names: set[str] = set()
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        else:
            bound = (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            names |= {n.id for n in bound}
    return names


def parsed(source: str) -> ast.Module | None:
    """The syntax tree, with magic lines as if they were not there; None for what is no Python."""
    plain = "\n".join(
        "" if line.lstrip().startswith(("%", "!", "?")) else line for line in source.split("\n")
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
