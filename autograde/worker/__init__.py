"""The process that runs student code. Self-contained: the judge copies this folder and no more of autograde.

It imports the standard library, numpy, torch and IPython only, and no module of it knows a hidden test.
The judge imports `codec`, `frames` and `calls` from here too, so that both sides speak the same format.
"""
