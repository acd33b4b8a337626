"""Loading every operator: the one list of what there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from hidet import ops
from hidet.ops.indexing import known


@cache
def load_operators() -> Mapping[str, Callable[..., Any]]:
    """The public functions of all operators by name; importing them has filled OPERATORS, and the
    rules of `known`, which come after all operators."""
    assert known.FUNCTIONS
    return {name: getattr(ops, name) for name in ops.__all__}
