"""Reads a notebook that is to be handed in, says which week it is, and repairs it from the released one.

The grader uses the same modules, so that both sides agree on what was found and what was repaired.
"""
