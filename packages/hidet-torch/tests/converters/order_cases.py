"""Functions that compare elements with each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from case import NAN, aten, case, n, x

case("sort", torch.sort, x(3, 17))
case("sort descending of an axis", lambda a: torch.sort(a, 0, descending=True), x(9, 4))
case("sort with nan", lambda a: torch.sort(a)[0], NAN)
case("stable sort of equals", lambda a: torch.sort(a, stable=True), n(2, 20, low=0, high=4))
case(
    "stable sort of equals downwards",
    lambda a: torch.sort(a, stable=True, descending=True),
    n(2, 20, low=0, high=4),
)
case("argsort", lambda a: torch.argsort(a, 1), x(4, 7))
case("sort of a number", torch.sort, torch.tensor(2.5))
case("topk", lambda a: torch.topk(a, 3), x(5, 11))
case("topk of the least", lambda a: torch.topk(a, 2, 0, largest=False), x(8, 3))
case("topk with nan", lambda a: torch.topk(a, 3)[0], NAN)
case("quantile", lambda a: torch.quantile(a, 0.3, 1), x(4, 9))
case("cummax", lambda a: torch.cummax(a, 1), n(3, 12, low=0, high=4))
case("cummin", lambda a: torch.cummin(a, 0), x(12, 3))
case("cummax with nan", lambda a: torch.cummax(a, 0), NAN)
case("searchsorted", torch.searchsorted, x(9).sort()[0], x(3, 4))
case(
    "searchsorted right",
    lambda a, c: torch.searchsorted(a, c, right=True),
    n(2, 9, low=0, high=5).sort()[0],
    n(2, 6, low=0, high=5),
)
case(
    "searchsorted of many",
    lambda a, c: torch.searchsorted(a, c * 0.5),
    x(999).sort()[0],
    torch.cat([x(70), x(999).sort()[0][::9] * 2, torch.tensor([torch.nan, 1e9, -1e9])]),
)
case(
    "searchsorted of many rows, right",
    lambda a, c: torch.searchsorted(a, c, right=True),
    x(3, 512).round(decimals=1).sort(-1)[0],
    x(3, 50).round(decimals=1),
)
case(
    "bucketize of many",
    lambda a, c: torch.bucketize(a, c, out_int32=True),
    x(5, 40).round(decimals=1),
    x(257).round(decimals=1).sort()[0],
)
case("bucketize", lambda a: torch.bucketize(a, torch.tensor([-1.0, 0, 1])), NAN)
case(
    "bucketize right",
    lambda a, c: torch.bucketize(a, c, right=True, out_int32=True),
    n(7, low=0, high=5),
    torch.arange(5),
)
case("histc", lambda a: torch.histc(a, 5, -2, 2), x(40))
case("histc of many pieces", lambda a: torch.histc(a, 100, -2, 2), x(777))
case("histc with nan", lambda a: torch.histc(a, 33, -2, 2), NAN)
case("histc of numbers", lambda a: torch.histc(a, 4, 0, 3), n(30, low=0, high=5).float())
case("isin", torch.isin, n(4, 5), n(3))
case("isin inverted", lambda a, c: torch.isin(a, c, invert=True), n(4, 5), n(3))


def reduced(rule: str, own: bool) -> Callable[..., Any]:
    return lambda a, i, s: a.scatter_reduce(1, i, s, rule, include_self=own)


for _rule in ["sum", "prod", "mean", "amax", "amin"]:
    for _own in [True, False]:
        case(
            f"scatter_reduce {_rule} {_own}",
            reduced(_rule, _own),
            x(3, 5),
            n(3, 4, low=0, high=5),
            x(3, 6),
        )

for _axis in (0, 1, -1):
    case(f"mode {_axis}", lambda a, i=_axis: torch.mode(a, i), n(7, 9, low=0, high=4))
case("mode of floats", lambda a: torch.mode(a, 1, keepdim=True), n(3, 12, low=0, high=5).float())
case("mode of a number", torch.mode, torch.tensor(2.5))

EDGES = torch.tensor([-2.0, -0.5, 0, 1, 2])
for _density in (False, True):
    case(
        f"histogram {_density}",
        lambda a, e, d=_density: torch.histogram(a, e, density=d),
        *(torch.cat([x(30), EDGES]), EDGES),
    )
    case(
        f"histogram of weights {_density}",
        lambda a, w, d=_density: torch.histogram(a, 7, weight=w, density=d),
        *(x(4, 10), x(4, 10, low=0)),
    )
    case(
        f"histogram of points {_density}",
        lambda a, d=_density: torch.histogramdd(a, (3, 4), density=d).hist,
        x(30, 2),
    )
    case(
        f"histogram of points between edges {_density}",
        lambda a, e, w, d=_density: torch.histogramdd(a, (e, e * 2), weight=w, density=d)[0],
        *(torch.cat([x(30, 2), EDGES[:, None].expand(5, 2)]), EDGES, x(35, low=0)),
    )
case(
    "histogram of points in ranges",
    lambda a: torch.histogramdd(a, (5, 3), range=(-1.0, 2.0, -0.5, 1.5))[0],
    x(40, 2),
)
case("edges of points", lambda a: aten._histogramdd_bin_edges(a, (3, 4)), x(30, 2))
case("histogram in a range", lambda a: torch.histogram(a, 5, range=(-1.0, 2.0)), x(40))
case("histogram of one value", lambda a: torch.histogram(a, 3), torch.full((4,), 2.0))
