"""Small models behind the widgets: pure numpy, the same bytes for the same settings, no notebook needed.

Each one has a twin in the widgets' JavaScript; a test compares the two on shared cases.
"""
