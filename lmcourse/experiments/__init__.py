"""Experiments that a notebook can run again, with their recorded results."""
