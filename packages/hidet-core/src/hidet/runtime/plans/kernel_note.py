"""What a profile tells of a kernel besides its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hidet.errors import BadArchive
from hidet.runtime.plans.sizes import Size, checked_size


@dataclass(frozen=True)
class KernelNote:
    """What one kernel function of a plan computes.

    `operators` are those that share it, `flops` the floating-point operations of one run, in
    `dtype`. `nodes` are positions of operators in the graph as it was given, `places` their source
    locations where these are known.
    """

    function: str
    operators: tuple[str, ...]
    schedule: str
    flops: Size
    dtype: str
    nodes: tuple[int, ...] = ()
    places: tuple[str, ...] = ()


def read_note(data: Any, known: Mapping[str, Any]) -> KernelNote:
    """A note from JSON, over the sizes `known` of its plan; BadArchive if it is none."""
    try:
        function, schedule, dtype = (data[name] for name in ("function", "schedule", "dtype"))
        operators, nodes, places = (tuple(data[e]) for e in ("operators", "nodes", "places"))
        flops = checked_size(data["flops"], known, "a kernel")
    except (TypeError, LookupError) as error:
        raise BadArchive(f"a note on a kernel is incomplete: {error}") from error
    texts = (function, schedule, dtype, *operators, *places)
    if not all(isinstance(each, str) for each in texts) or not all(type(n) is int for n in nodes):
        raise BadArchive(f"a note on a kernel is of other types: {str(data)[:80]}")
    return KernelNote(function, operators, schedule, flops, dtype, nodes, places)
