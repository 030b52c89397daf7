"""Hidden side of week 1."""
