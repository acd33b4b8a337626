"""Packages that some operators need, which are not installed with this one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hidet.errors import UnsupportedOp

EXTRAS = {"re2": ("google-re2", "regex"), "PIL.Image": ("Pillow", "images")}
"""By module: the package, and the extra of hidet-onnx that has it."""


def package(module: str) -> Any:
    """A module of such a package; UnsupportedOp says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        name, extra = EXTRAS[module]
        raise UnsupportedOp(
            f"there is no package {name}", help=f"pip install 'hidet-onnx[{extra}]'"
        ) from None
