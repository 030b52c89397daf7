"""Fingerprints of answers: hashes of pieces of their normalized syntax trees.

Names of the student's own, comments, layout and docstrings do not count, so that renaming changes nothing.
Pieces of PIECE nodes are hashed, and of every WINDOW of them the smallest hash is kept (winnowing: Schleimer,
Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting", 2003).
"""

from __future__ import annotations

import ast
import builtins
import hashlib
from collections.abc import Iterator

from nbformat import NotebookNode

from lmcourse.handin.code import parsed
from lmcourse.handin.master import Master

PIECE = 12  # nodes
WINDOW = 6  # pieces
MOST = 400  # fingerprints that are kept of one exercise


def fingerprints(repaired: NotebookNode, master: Master) -> dict[str, tuple[int, ...]]:
    """Exercise id -> sorted fingerprints of its answer, without those of the stub as handed out."""
    sources: dict[str, list[str]] = {}
    for cell in repaired.cells:
        own = cell.metadata.get("lmcourse", {})
        if own.get("role") == "answer" and cell.cell_type == "code":
            sources.setdefault(own.get("exercise", ""), []).append(cell.source)
    found = {}
    for exercise, given in sources.items():
        stub = of_source("\n".join(c.cell.source for c in master.answers(exercise)))
        found[exercise] = tuple(sorted(of_source("\n".join(given)) - stub)[:MOST])
    return found


def of_source(source: str) -> set[int]:
    """Fingerprints of one piece of code; empty for what is no Python, or too short to say anything."""
    tree = parsed(source)
    if tree is None:
        return set()
    nodes = list(_nodes(tree))
    hashes = [_hash("\0".join(nodes[i : i + PIECE])) for i in range(len(nodes) - PIECE + 1)]
    return {min(hashes[i : i + WINDOW]) for i in range(max(1, len(hashes) - WINDOW + 1))} if hashes else set()


def _nodes(tree: ast.AST) -> Iterator[str]:
    """The tree in order, each node as its kind with what is not the student's choice of names."""
    if (
        isinstance(tree, ast.Expr)
        and isinstance(tree.value, ast.Constant)
        and isinstance(tree.value.value, str)
    ):
        return  # a docstring
    word = type(tree).__name__
    if isinstance(tree, ast.Attribute):
        word += f".{tree.attr}"
    elif isinstance(tree, ast.Name) and tree.id in dir(builtins):
        word += f" {tree.id}"
    elif isinstance(tree, ast.Constant) and isinstance(tree.value, int | float | bool):
        word += f" {tree.value}"
    yield word
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.expr_context):
            yield from _nodes(child)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).digest(), "big")
