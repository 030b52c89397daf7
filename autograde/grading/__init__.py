"""Grades a class: judge processes side by side, a store of verdicts, and what is made from it afterwards."""
