"""A griffe extension: what a row of a table of functions means, in the reference of the site.

`sqrt = unary("sqrt", "The square root.", ...)` has its docstring as an argument. mkdocs.yml names
this class; `ci/reference.py` finds what is left out without it.
"""

from __future__ import annotations

import ast
from typing import Any

from griffe import Attribute, Docstring, Extension


class DescribedRows(Extension):
    """Gives such attributes docstrings, without which they are left out."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Called by griffe for every attribute that it has read."""
        text = meaning(str(attr.value)) if attr.value is not None else None
        if text is not None and attr.docstring is None:
            attr.docstring = Docstring(text, parent=attr)


def meaning(value: str) -> str | None:
    """What the source of a row says that it means; None if it is no such row."""
    match ast.parse(value, mode="eval").body:
        case ast.Call(func=ast.Name(id="DType"), args=[ast.Constant(value=str(name)), *_]):
            return f"The element type {name}."
        case ast.Call(args=[ast.Constant(value=str()), ast.Constant(value=str(text)), *_]):
            return text
    return None
