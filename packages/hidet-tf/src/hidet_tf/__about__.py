"""The version of hidet-tf, and only that."""

__version__ = "0.1.0"
