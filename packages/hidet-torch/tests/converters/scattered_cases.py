"""Elements replaced at positions, on diagonals and under masks; medians and k-th values."""

from __future__ import annotations

import torch
from case import NAN, b, case, n, x
from torch.nn import functional as F

_places = n(3, 4, low=0, high=5)
for _rule in ("add", "multiply"):
    case(
        f"scatter {_rule}",
        lambda a, i, s, rule=_rule: a.scatter(1, i, s, reduce=rule),
        *(x(3, 5), _places, x(3, 4)),
    )
case("scatter a number", lambda a, i: a.scatter(1, i, 2.0, reduce="add"), x(3, 5), _places)
for _rule in ("prod", "mean", "amax", "amin"):
    for _own in (True, False):
        case(
            f"index_reduce {_rule} {_own}",
            lambda a, i, s, rule=_rule, own=_own: a.index_reduce(-2, i, s, rule, include_self=own),
            *(x(5, 4), n(7, low=0, high=5), x(7, 4)),
        )
case("put", lambda a, i, s: a.put(i, s), x(3, 5), torch.tensor([[3, 14], [0, 7]]), x(2, 2))
case(
    "put and add",
    lambda a, i, s: a.put(i, s, accumulate=True),
    *(x(3, 5), n(2, 4, low=0, high=15), x(2, 4)),
)
case("masked_scatter", lambda a, m, s: a.masked_scatter(m, s), x(3, 7), b(3, 7), x(21))
case("masked_scatter by rows", lambda a, m, s: a.masked_scatter(m, s), x(3, 7), b(7), x(3, 7))
for _shape, _length, _offset in (
    ((5, 5), 5, 0),
    ((3, 7), 3, 2),
    ((7, 3), 3, -1),
    ((2, 5, 4), 3, 1),
):
    case(
        f"diagonal_scatter {_shape} {_offset}",
        lambda a, s, offset=_offset: a.diagonal_scatter(s, offset, -2, -1),
        *(x(*_shape), x(*_shape[:-2], _length)),
    )
case(
    "diagonal_scatter of outer axes",
    lambda a, s: a.diagonal_scatter(s, -1, 2, 0),
    *(x(4, 3, 5), x(3, 4)),
)
case("index_select of a number", lambda a, i: a.index_select(0, i), x(), torch.tensor([0]))
case("index_fill of a number", lambda a, i: a.index_fill(0, i, 2.0), x(), torch.tensor([0]))
case("index_add to a number", lambda a, i, s: a.index_add(0, i, s), x(), torch.tensor([0]), x())

for _name in ("median", "nanmedian"):
    _function = getattr(torch, _name)
    case(_name, _function, x(3, 5))
    case(f"{_name} along", lambda a, f=_function: f(a, 1), x(3, 6))
    case(f"{_name} keeping", lambda a, f=_function: f(a, 0, keepdim=True), x(7, 3))
    case(f"{_name} of special values", lambda a, f=_function: f(a, 0), NAN)
    case(f"{_name} of a number", lambda a, f=_function: f(a, 0), x())
    case(f"{_name} of integers", lambda a, f=_function: f(a, 0)[0], n(9, 2))
case("kthvalue", lambda a: a.kthvalue(3, -1), x(4, 7))
case("kthvalue keeping", lambda a: a.kthvalue(2, 0, keepdim=True), x(5, 3))
case(
    "searchsorted by a sorter",
    lambda a, v: torch.searchsorted(a, v, sorter=torch.argsort(a)),
    *(x(3, 9), x(3, 4)),
)

case("repeat no time", lambda a: a.repeat(2, 0, 1), x(3, 5))
case(
    "addbmm",
    lambda m, a, c: torch.addbmm(m, a, c, beta=2, alpha=0.5),
    x(3, 5),
    x(2, 3, 4),
    x(2, 4, 5),
)
case("bilinear", F.bilinear, x(4, 3), x(4, 5), x(2, 3, 5), x(2))
for _power in (0.0, 1.0, 2.0, 2.5, float("inf")):
    case(f"cdist {_power}", lambda a, c, p=_power: torch.cdist(a, c, p), x(2, 4, 3), x(2, 5, 3))
case(
    "batch norm and what it saves",
    lambda a, w, m, v: torch.native_batch_norm(a, w, w, m, v, False, 0.1, 1e-5),
    *(x(2, 3, 4), x(3), x(3), x(3, low=0.5)),
)
for _name in ("permute", "narrow", "view", "unbind"):
    _copied = getattr(torch, f"{_name}_copy")
    _given = {"permute": ((1, 0),), "narrow": (1, 1, 2), "view": ((5, 3),), "unbind": (0,)}[_name]
    case(f"{_name}_copy", lambda a, f=_copied, given=_given: f(a, *given), x(3, 5))

case(
    "as_strided_scatter",
    lambda a, s: torch.as_strided_scatter(a, s, (2, 3), (1, 4), 2),
    *(x(4, 5), x(2, 3)),
)
case(
    "as_strided_scatter of a transposed one",
    lambda a, s: torch.as_strided_scatter(a, s, (2, 3), (1, 4)),
    *(x(5, 4).mT, x(2, 3)),
)
case(
    "slope of maxima",
    lambda a, g: torch.ops.aten.max_pool2d_with_indices_backward(
        g, a, [2, 2], [1, 1], [0, 0], [1, 1], False, F.max_pool2d(a, 2, 1, return_indices=True)[1]
    ),
    *(x(2, 3, 5, 6), x(2, 3, 4, 5)),
)
for _size in (0, 3, 40):
    case(
        f"nonzero_static {_size}",
        lambda a, size=_size: torch.nonzero_static(a, size=size),
        n(3, 5, low=-1, high=2),
    )
case("nonzero_static filled", lambda a: torch.nonzero_static(a, size=9, fill_value=7), b(2, 3))
case("nonzero_static of a number", lambda a: torch.nonzero_static(a, size=2), n())
