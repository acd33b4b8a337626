"""Which names a function, or some of its statements, assign."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache

SEPARATE = (
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)
"""Syntax with names of its own."""


def assigned(statements: Iterable[ast.stmt]) -> list[str]:
    """The names that the statements assign, in order of appearance."""
    found = dict.fromkeys(name for s in statements for name in assigned_in(s))
    return list(found)


@lru_cache(maxsize=1 << 14)
def assigned_in(node: ast.AST) -> tuple[str, ...]:
    """The names assigned in a piece of syntax, except in functions and comprehensions."""
    if isinstance(node, SEPARATE):
        return ()
    own = (node.id,) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ()
    return own + tuple(n for child in ast.iter_child_nodes(node) for n in assigned_in(child))
