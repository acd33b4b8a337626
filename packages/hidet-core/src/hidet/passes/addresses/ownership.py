"""Where an element of a register tensor lies that is spread over threads by a task mapping."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.errors import NotYet
from hidet.ir.expr import Expr, wrap
from hidet.mapping import Nested, Projected, Repeat, Spatial, TaskMapping


def local_offset(mapping: TaskMapping, index: Sequence[Expr]) -> Expr:
    """Which of its owner's elements the one at `index` is, counted in the order of the tasks."""
    match mapping:
        case Projected(inner, fixed):
            # The fixed dimensions are at 0 in every task; their iterations share one element.
            return local_offset(inner, [wrap(0) if d in fixed else i for d, i in enumerate(index)])
        case Nested(parts):
            pass
        case Spatial() | Repeat():
            parts = (mapping,)
        case _:
            raise NotYet(
                f"a register tensor cannot be spread by {mapping}",
                help="use spatial and repeat, composed and projected",
            )
    offset: Expr = wrap(0)
    weight = 1
    below = [1] * mapping.rank
    for part in reversed(parts):
        # The digit of each dimension that belongs to this part, the fastest dimension first.
        if isinstance(part, Repeat):
            for d in reversed(part.order):
                if part.shape[d] > 1:
                    offset = offset + index[d] // below[d] % part.shape[d] * weight
                    weight *= part.shape[d]
        elif not isinstance(part, Spatial):
            raise NotYet(f"a register tensor cannot be spread by {part} within {mapping}")
        below = [size * extent for size, extent in zip(below, part.shape, strict=True)]
    return offset
