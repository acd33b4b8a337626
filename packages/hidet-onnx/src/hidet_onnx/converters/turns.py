"""A step for each row of tensors, carrying a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor

Step = Callable[..., tuple[Sequence[Tensor], Sequence[Tensor]]]
"""`state, results = step(*state, *rows)`"""

MOST = 64
"""More steps are not taken into the graph one by one."""


def scanned(
    step: Step, state: Sequence[Tensor], inputs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """The last state, and what steps gave, stacked along a new first axis.

    A step takes the state and a row of each input, which have one axis less.
    """
    length = inputs[0].shape[0]
    if not isinstance(length, int) or length > MOST:
        raise NotYet(f"{length} steps one after the other")
    now, rows = list(state), []
    for number in range(length):
        following, found = step(*now, *(ops.select(each, 0, number) for each in inputs))
        now = list(following)
        rows.append(found)
    return now, [ops.stack(each, 0) for each in zip(*rows, strict=True)]
