"""A step for each row of tensors, carrying a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import ops
from hidet.graph import Tensor

Step = Callable[..., tuple[Sequence[Tensor], Sequence[Tensor]]]
"""`state, results = step(*state, *rows)`"""


def scanned(
    step: Step, state: Sequence[Tensor], inputs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """The last state, and what steps gave, stacked along a new first axis.

    A step takes the state and a row of each input, which have one axis less. It is converted once,
    however many rows there are, and a call may tell how many.
    """
    last, rows = ops.scan(step, state, inputs)
    return list(last), list(rows)
