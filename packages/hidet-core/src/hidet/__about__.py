"""The version of hidet-core, and only that."""

__version__ = "0.1.0"
