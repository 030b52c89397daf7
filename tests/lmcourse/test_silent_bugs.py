"""The list of silent bugs names tests that exist, and says of each kind where it is held off."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parents[1] / "docs" / "silent-bugs.md"
ROWS = re.findall(r"^\| ([LPORSN]\d+) \| (.+?) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize(("kind", "held"), [(kind, held) for kind, _, held in ROWS])
def test_each_kind_names_tests_that_exist_or_says_why_none_is_needed(kind, held):
    named = NAMED.findall(held)
    assert named or held.startswith("not applicable: ")
    for file, function in named:
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_kind_stands_once():
    kinds = [kind for kind, _, _ in ROWS]
    assert len(kinds) == len(set(kinds)) > 70
    assert {kind[0] for kind in kinds} == set("LPORSN")
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| [A-Z]\d", line)]
    assert len(lines) == len(kinds)  # none that the pattern above overlooks
