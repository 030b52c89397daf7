"""From `solutions/weekNN_slug.py` to nbgrader notebooks, student notebooks and check tables."""
