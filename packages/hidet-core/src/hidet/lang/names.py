"""Which names a function, or some of its statements, assign."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

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


def assigned_in(node: ast.AST) -> Iterator[str]:
    """The names assigned in a piece of syntax, except in functions and comprehensions."""
    if isinstance(node, SEPARATE):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from assigned_in(child)
