import nbformat

from autograde.judge.on_demand import OnDemand
from lmcourse.handin.code import defined_names, global_names


def cell(source):
    return nbformat.v4.new_code_cell(source)


def test_only_names_that_come_from_the_notebook_are_global():
    source = """
%matplotlib inline
import math
limit = 3
def f(tokens, T=T0):
    text = [t for t in tokens]
    def inner():
        return text, F.relu, limit, math.pi
    global counter
    counter = counter + 1
    return len(text), inner()
class A(Base):
    size = width
"""
    assert global_names(source) - {"len"} == {"T0", "F", "Base", "width", "counter"}
    assert global_names("def (") == set()


def test_names_that_a_cell_binds_are_seen_in_every_form():
    source = "import a.b as c, d\nfrom e import f\nx, (y, *z) = 1, (2, 3)\nfor i in x: j = i\n"
    source += "with o as p: pass\nq: int = 1"
    assert defined_names(source) >= {"c", "d", "f", "x", "y", "z", "i", "j", "p", "q"}


def test_a_skipped_cell_runs_when_a_name_is_taken_from_it_with_what_it_needs_itself():
    demand = OnDemand()
    cells = {
        1: "from lib import train",
        2: "tokens = 1",
        3: "mine = train(tokens)",
        4: "mine = train(0)",
        5: "other = 2",
    }
    for number, source in cells.items():
        demand.skip(number, cell(source))
    assert demand.before(cell("def f(tokens):\n    return tokens")) == []
    assert [n for n, _ in demand.before(cell("leak = mine.gaps"))] == [1, 4]
    assert demand.before(cell("again = mine")) == []
    assert [n for n, _ in demand.before(cell("def g():\n    return tokens, mine"))] == [2]


def test_what_another_cell_bound_already_is_not_run_for():
    demand = OnDemand()
    demand.skip(1, cell("text = 'shown'"))
    demand.before(cell("text = 'own'"))
    assert demand.before(cell("print(text, unknown)")) == []
