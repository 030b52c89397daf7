"""Marks for other programs: a plain table, Canvas, Moodle, Gradescope.

A mark that is not decided yet is left empty, never written as 0. Points for written answers are a person's
and not in these files; `nbgrader export` has both.
"""
