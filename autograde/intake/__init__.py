"""Reads what was handed in, says which week it is, repairs it from the master and tells what was repaired.

Nothing here needs a hidden test or a secret, so that students can run the same steps before they hand in.
"""
