"""Hidden side of week 0."""
