"""Damaged notebooks of the toy week come out as they should be graded, and every repair is told."""

import nbformat
import pytest
import small_course

from lmcourse.handin.master import Master
from lmcourse.handin.repair import repair
from lmcourse.handin.untouched import untouched

MASTER = small_course.master()
ANSWERS = small_course.right_answers()
NAMES = [cell.name for cell in MASTER.cells]


def place(notebook, name):
    return next(
        i for i, c in enumerate(notebook.cells) if c.metadata.get("nbgrader", {}).get("grade_id") == name
    )


def repaired(notebook):
    before = nbformat.writes(notebook)
    result = repair(notebook, MASTER)
    assert nbformat.writes(notebook) == before, "the submission itself must stay as it is"
    return result


def check_whole(result):
    """All master cells once and in order, locked ones as released, answers the student's, marks restored."""
    notebook = result.notebook
    nbformat.validate(notebook)
    known = [c for c in notebook.cells if "nbgrader" in c.metadata]
    assert [c.metadata.nbgrader.grade_id for c in known] == NAMES
    for cell, master in zip(known, MASTER.cells, strict=True):
        assert cell.metadata.nbgrader == master.cell.metadata.nbgrader
        assert cell.cell_type == master.cell.cell_type
        want = ANSWERS[master.exercise] if master.role == "answer" else master.cell.source
        assert cell.source == want, master.name


def test_an_undamaged_notebook_needs_no_repair():
    result = repaired(small_course.submission())
    check_whole(result)
    assert result.repairs == ()


def change(name, **fields):
    def damage(notebook):
        notebook.cells[place(notebook, name)].update(fields)

    return damage


def flags(name, **marks):
    def damage(notebook):
        notebook.cells[place(notebook, name)].metadata.nbgrader.update(marks)

    return damage


def delete(*names):
    def damage(notebook):
        for name in names:
            del notebook.cells[place(notebook, name)]

    return damage


def copy(name, times=1, to=None):
    def damage(notebook):
        at = place(notebook, name)
        original = notebook.cells[at]
        for number in range(times):
            cell = nbformat.from_dict(original)
            cell.id = f"copy{number}"
            notebook.cells.insert(at + 1 if to is None else to, cell)

    return damage


def move(name, to):
    def damage(notebook):
        notebook.cells.insert(to, notebook.cells.pop(place(notebook, name)))

    return damage


def lose_marks(*roles):
    def damage(notebook):
        for number, cell in enumerate(notebook.cells):
            if not roles or cell.metadata.lmcourse.role in roles:
                cell.metadata = nbformat.NotebookNode()
                cell.id = f"new{number}"

    return damage


def swap_ids(one, other):
    def damage(notebook):
        a, b = notebook.cells[place(notebook, one)], notebook.cells[place(notebook, other)]
        a.metadata, b.metadata = b.metadata, a.metadata
        a.id, b.id = b.id, a.id

    return damage


DAMAGES = {
    "locked cell edited": (change("W1-4", source="points = 100"), "the grade cell of W1.4 had been changed"),
    "setup edited": (change("W1-setup", source="import os"), "the setup cell had been changed"),
    "grade flag off": (flags("W1-4", grade=False), "the marks of the grade cell of W1.4"),
    "solution flag on": (flags("W1-4", solution=True), "the marks of the grade cell of W1.4"),
    "answer locked": (flags("W1-4-answer", locked=True), "the marks of the answer cell of W1.4"),
    "points raised": (flags("W1-4", points=1000), "the marks of the grade cell of W1.4"),
    "grade cell deleted": (delete("W1-4"), "the grade cell of W1.4 was missing"),
    "neighbors deleted": (delete("W1-4-check", "W1-4", "W1-5-contract"), "the contract cell of W1.5 was"),
    "all grade cells deleted": (delete(*[n for n in NAMES if n[-2] == "-"]), "the grade cell of W1.8 was"),
    "setup deleted": (delete("W1-setup"), "the setup cell was missing"),
    "grade cell copied": (copy("W1-4"), "the grade cell of W1.4 was there 2 times; one was kept"),
    "grade cell copied far": (copy("W1-4", 3, to=2), "the grade cell of W1.4 was there 4 times"),
    "answer to markdown": (change("W1-4-answer", cell_type="markdown"), "turned into a text cell"),
    "answer to raw": (change("W1-4-answer", cell_type="raw"), "turned into a raw cell"),
    "grade to markdown": (change("W1-4", cell_type="markdown"), "the grade cell of W1.4 had been turned"),
    "answer moved down": (move("W1-1-answer", 20), "the order of the handed-out notebook"),
    "grade moved up": (move("W1-6", 1), "the order of the handed-out notebook"),
    "setup moved down": (move("W1-setup", 30), "the order of the handed-out notebook"),
    "all marks lost": (lose_marks(), "the marks of the answer cell of W1.4"),
    "marks of answers lost": (lose_marks("answer"), "the marks of the answer cell of W1.1"),
    "marks of grade cells lost": (lose_marks("grade"), "the marks of the grade cell of W1.8"),
    "answers under each other's ids": (swap_ids("W1-3-answer", "W1-4-answer"), "W1.3"),
    "grade cells under each other's ids": (swap_ids("W1-3", "W1-4"), "the grade cell of W1.3 had been"),
    "nbgrader metadata of another kind": (lambda n: n.cells[2].metadata.update(nbgrader="x"), "the marks of"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_repaired_and_told(damage, words):
    notebook = small_course.submission()
    damage(notebook)
    result = repaired(notebook)
    check_whole(result)
    assert any(words in line for line in result.repairs), result.repairs


def test_of_copied_answers_the_last_changed_one_counts_and_all_run():
    notebook = small_course.submission(W1_4=None)
    at = place(notebook, "W1-4-answer")
    for number, source in enumerate(["first try", "second try"], start=1):
        cell = nbformat.from_dict(notebook.cells[at])
        cell.update(source=source, id=f"c{number}")
        notebook.cells.insert(at + number, cell)
    untouched_copy = nbformat.from_dict(notebook.cells[at])
    untouched_copy.id = "c3"
    notebook.cells.insert(at + 3, untouched_copy)
    result = repaired(notebook)
    own = [c.source for c in result.notebook.cells if "lmcourse" not in c.metadata]
    answer = result.notebook.cells[place(result.notebook, "W1-4-answer")]
    assert answer.source == "second try" and "first try" in own
    assert any("there 4 times; the last one that was changed counts" in line for line in result.repairs)


def test_a_split_answer_runs_in_both_parts():
    notebook = small_course.submission()
    at = place(notebook, "W1-4-answer")
    second = nbformat.from_dict(notebook.cells[at])
    notebook.cells[at].source = "def document_mask(x):\n    y = x + 4"
    second.update(source="    return y", id="second")
    notebook.cells.insert(at + 1, second)
    sources = [c.source for c in repaired(notebook).notebook.cells]
    first = sources.index("def document_mask(x):\n    y = x + 4")
    assert "    return y" in sources[first - 1 : first + 2]


def test_own_cells_stay_where_they_were_and_carry_no_marks():
    notebook = small_course.submission()
    forged = nbformat.v4.new_code_cell("mine = 1", metadata={"nbgrader": {"grade": True, "points": 99}})
    notebook.cells.insert(place(notebook, "W1-4-answer") + 1, forged)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("first = 0"))
    result = repaired(notebook)
    check_whole(result)
    sources = [c.source for c in result.notebook.cells]
    assert sources[0] == "first = 0"
    assert sources.index("mine = 1") == sources.index(ANSWERS["W1.4"]) + 1


@pytest.mark.filterwarnings("ignore:Cell is missing an id")
def test_cells_without_ids_are_taken_as_they_are():
    notebook = small_course.submission()
    for cell in notebook.cells:
        del cell["id"]
    notebook.cells.insert(3, nbformat.from_dict({"cell_type": "raw", "source": "own", "metadata": {}}))
    check_whole(repaired(notebook))


def test_an_empty_notebook_becomes_the_master():
    notebook = nbformat.v4.new_notebook()
    result = repaired(notebook)
    assert [c.source for c in result.notebook.cells] == [c.cell.source for c in MASTER.cells]
    assert untouched(result.notebook, MASTER) == {e.id for e in small_course.WEEK.exercises}


def test_what_was_not_touched_is_known_whatever_the_layout():
    notebook = small_course.submission(W1_1=None, W1_2=None, W1_3=None)
    notebook.cells[place(notebook, "W1-1-answer")].source += "\n\n# what is this?  \n"
    result = repaired(notebook)
    assert untouched(result.notebook, MASTER) == {"W1.1", "W1.2", "W1.3"}
    result.notebook.cells.append(nbformat.v4.new_code_cell("def split_tail(x): ..."))
    assert untouched(result.notebook, MASTER) == {"W1.1", "W1.3"}


def test_a_written_answer_without_any_marks_is_found_by_its_place():
    written = nbformat.from_dict(MASTER.notebook)
    at = place(written, "W1-8")
    marks = {"grade_id": "W1-8-written", "grade": True, "solution": True, "locked": False, "points": 10}
    own = {"exercise": "W1.8", "role": "written"}
    cell = nbformat.v4.new_markdown_cell(
        "*Write your answer here.*", id="w1-8-written", metadata={"nbgrader": marks, "lmcourse": own}
    )
    written.cells.insert(at + 1, cell)
    master = Master.from_notebook(written)
    notebook = nbformat.from_dict(master.notebook)
    notebook.cells[at + 1].source = "Masks matter when neighbors are alike."
    lose_marks()(notebook)
    result = repair(notebook, master)
    known = (c for c in result.notebook.cells if c.metadata.get("lmcourse", {}).get("role") == "written")
    assert [c.source for c in known] == ["Masks matter when neighbors are alike."]
