"""Drivers: how a student's function is called where plain data cannot carry what it takes, such as a model.

One module a week, `week02` and so on. A driver is `(names, *args)`: it builds models, batches or optimizers
from plain numbers and tensors, without touching the global random state, runs the student's function or class
on them, and gives plain data back. Checks and judge use the same drivers, so everybody can read here how an
answer will be called. Nothing is decided here: what comes back is compared elsewhere.
"""
