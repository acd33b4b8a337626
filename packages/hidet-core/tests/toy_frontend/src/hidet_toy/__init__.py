"""A third-party frontend plugin; its "framework" is numpy, its models are lists of tuples."""

from importlib import import_module

from hidet_toy.__about__ import __version__

__all__ = ["__version__"]

PUBLIC = {
    "compile": "hidet_toy.model",
    "Model": "hidet_toy.language",
    "Function": "hidet_toy.language",
}


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module 'hidet_toy' has no attribute {name!r}")
    return getattr(import_module(PUBLIC[name]), name)
