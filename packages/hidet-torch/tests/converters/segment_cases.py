"""Rows combined by segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from case import aten, case, n, x
from torch.nn.functional import embedding_bag

BAGS = torch.tensor([0, 0, 3, 3, 5])
"""Where bags begin; some are empty."""


def bags(**how: Any) -> Callable[..., Any]:
    return lambda i, w, o: embedding_bag(i, w, o, **how)


for _number, _mode in enumerate(("sum", "mean", "max")):
    case(f"embedding_bag {_mode}", bags(mode=_mode), n(9, low=0, high=6), x(6, 4), BAGS)
    case(
        f"embedding_bag {_mode} without padding",
        bags(mode=_mode, padding_idx=2),
        *(torch.tensor([2, 2, 2, 1, 2, 4, 2, 0, 5]), x(6, 4), BAGS),
    )
    case(
        f"embedding_bag {_mode} of a matrix",
        lambda i, w, mode=_mode: embedding_bag(i, w, mode=mode),
        *(n(3, 4, low=0, high=6), x(6, 4)),
    )
    case(
        f"the inner embedding_bag {_mode}",
        lambda w, i, o, mode=_number: aten._embedding_bag(w, i, o, False, mode)[0],
        *(x(6, 4), n(9, low=0, high=6), BAGS),
    )
case(
    "embedding_bag with weights",
    lambda i, w, o, p: embedding_bag(i, w, o, mode="sum", per_sample_weights=p),
    *(n(9, low=0, high=6), x(6, 4), BAGS, x(9)),
)
case(
    "embedding_bag with the last end",
    bags(include_last_offset=True),
    *(n(9, low=0, high=6), x(6, 4), torch.tensor([0, 4, 9])),
)
for _how in ("sum", "mean", "max", "min", "prod"):
    for _initial in (None, 1.5):
        case(
            f"segment_reduce {_how} {_initial}",
            lambda a, s, how=_how, initial=_initial: torch.segment_reduce(
                a, how, lengths=s, initial=initial, unsafe=True
            ),
            *(x(9, 2), torch.tensor([2, 0, 3, 4])),
        )
    case(
        f"segment_reduce {_how} from offsets",
        lambda a, s, how=_how: torch.segment_reduce(a, how, offsets=s, unsafe=True),
        *(x(9), torch.tensor([0, 2, 5, 9])),
    )
    case(
        f"segment_reduce {_how} of some rows",
        lambda a, s, how=_how: torch.segment_reduce(a, how, offsets=s, unsafe=True),
        *(x(9, 2), torch.tensor([1, 2, 2, 7])),
    )
