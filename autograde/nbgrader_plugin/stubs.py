"""What a student finds in place of a solution: a line that names the exercise."""

from __future__ import annotations

from nbgrader.preprocessors import ClearSolutions


class StubSolutions(ClearSolutions):
    """nbgrader's own step, with a stub that says which exercise is not answered yet.

    Inside a function the stub raises. At the top level of a cell it is a comment: an exercise that nobody has
    answered must not stop the rest of the notebook.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        exercise = cell.metadata.get("lmcourse", {}).get("exercise", "this exercise")
        stub = f'raise NotImplementedError("{exercise}: replace this line with your answer")'
        self.code_stub = {"python": stub}
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.cell_type == "code":
            comment = f"# {exercise}: replace this line with your answer"
            cell.source = "\n".join(comment if line == stub else line for line in cell.source.split("\n"))
        return cell, resources
