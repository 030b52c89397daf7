"""Check a whole notebook from outside: read it, run it in a fresh kernel, compare it with the release."""
