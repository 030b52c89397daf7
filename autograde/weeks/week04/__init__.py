"""Hidden side of week 4."""
