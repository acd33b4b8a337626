"""The version of hidet-toy, and only that."""

__version__ = "0.1.0"
