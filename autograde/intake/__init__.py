"""Finds each student's notebook among folders, archives and downloads of learning platforms."""
