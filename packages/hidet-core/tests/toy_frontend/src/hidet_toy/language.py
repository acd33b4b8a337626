"""The toy's language: a model is a list of tuples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Line = tuple[str, str, tuple[str, ...], dict[str, Any]]
"""The name of the result, the operator, the names of its operands, and its attributes."""


@dataclass
class Function:
    """An operator that is made of others."""

    parameters: tuple[str, ...]
    lines: list[Line]
    result: str


@dataclass
class Model:
    """Lines in an order in which they can run; a size in `inputs` that is a name may vary.

    `version` is that of the operators: since 2, `softmax` is along one axis instead of all from
    there on.
    """

    inputs: dict[str, tuple[str, tuple[int | str, ...]]]
    lines: list[Line]
    outputs: list[str]
    functions: dict[str, Function] = field(default_factory=dict)
    version: int = 2
