"""What symbolic sizes are called: as the user called them, else after an input and its axis."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

import sympy
import torch


def size_names(placeholders: Iterable[torch.fx.Node]) -> dict[sympy.Symbol, str]:
    """A name for each of PyTorch's symbols in the inputs of a graph, no two of them alike.

    A size has the name of its `torch.export.Dim`; of a derived one, such as `2 * batch`, that is
    the root's. One without a Dim is named after the first input that has it: "x.0" is axis 0 of
    x, "n" an input that is a number. A dot is in no Dim's name.
    """
    values = [(each.name, each.meta.get("val")) for each in placeholders]
    found = dim_names(values)
    taken = set(found.values())
    for label, size in labelled(values):
        symbol = size.node.expr
        if isinstance(symbol, sympy.Symbol) and symbol not in found:
            found[symbol] = free(label, taken)
            taken.add(found[symbol])
    return found


def labelled(values: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, torch.SymInt]]:
    """Every size that is a symbolic expression, and where it is; axes of tensors come first."""
    numbers = []
    for name, value in values:
        if isinstance(value, torch.SymInt):
            numbers.append((name, value))
        elif isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt):
                    yield f"{name}.{axis}", size
    yield from numbers


def free(label: str, taken: set[str]) -> str:
    """The label, with a number if it is taken."""
    numbered = (f"{label}_{number}" for number in count(1))
    return label if label not in taken else next(each for each in numbered if each not in taken)


def dim_names(values: Iterable[tuple[str, Any]]) -> dict[sympy.Symbol, str]:
    """The names that the user gave sizes, by the symbols that stand for them in the end.

    PyTorch notes for each axis what the user called it, and which symbol it began as; that may
    have turned out to be equal to another one.
    """
    size = next((size for _, size in labelled(values)), None)
    if size is None:
        return {}
    environment = size.node.shape_env
    given: Mapping[str, str] = environment.source_name_to_debug_name
    found: dict[sympy.Symbol, str] = {}
    for symbol, sources in list(environment.var_to_sources.items()):
        for name in (given[each.name] for each in sources if each.name in given):
            expression = environment.replace(symbol)
            if isinstance(expression, sympy.Symbol) == name.isidentifier():
                for root in expression.free_symbols:  # one: a derived Dim is linear in its root
                    found.setdefault(root, re.findall(r"[^\W\d]\w*", name)[0])
    return found
