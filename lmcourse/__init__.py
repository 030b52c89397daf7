"""A small, exact trainer for language models, and the toys, widgets and checks of the course built on it."""

__version__ = "0.1.0"
