"""What can be seen in a cell's source without running it."""

from __future__ import annotations

import ast
import symtable
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def global_names(source: str) -> set[str]:
    """Names that the cell, or a function in it, takes from the notebook and does not bind itself."""
    plain = without_magics(source)
    try:
        table = symtable.symtable(plain, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    return {name for name in _globals_in(table) if name not in bound}


def without_magics(source: str) -> str:
    """The same lines, with those that only IPython understands left empty."""
    return "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for line in source.split("\n"))


def _globals_in(table: symtable.SymbolTable) -> set[str]:
    module = table.get_type() == "module"
    names = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (module or s.is_global())}
    return names.union(*(_globals_in(child) for child in table.get_children()))
