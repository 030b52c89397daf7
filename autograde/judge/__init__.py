"""Decides verdicts. No student code runs in this process, except where an answer says `isolation="none"`."""
