"""The version of hidet-torch, and only that."""

__version__ = "0.1.0"
