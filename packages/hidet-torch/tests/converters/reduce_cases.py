"""Functions that make one element of many."""

from __future__ import annotations

import torch
from case import NAN, b, case, i32, n, u8, x
from torch.nn import functional as F

for _name in ["sum", "mean", "prod", "amax", "amin"]:
    _function = getattr(torch, _name)
    case(_name, lambda a, f=_function: f(a, 1), x(3, 5, 2))
    case(f"{_name} keepdim", lambda a, f=_function: f(a, -1, keepdim=True), x(3, 5))
case("sum all", torch.sum, x(3, 5))
case("sum integers", lambda a: a.sum(0), n(3, 5, dtype=i32))
case("sum bools", torch.sum, b(6))
case("sum several", lambda a: a.sum((0, 2)), x(3, 5, 2))
case("sum of nothing", lambda a: a.sum(0), x(0, 3))
case("mean several", lambda a: a.mean((-1, -2), keepdim=True), x(3, 5, 2))
case("mean dtype", lambda a: a.mean(dtype=torch.float64), x(6))
case("max all", torch.max, NAN)
case("min all", torch.min, x(6))
case("max axis", lambda a: torch.max(a, 1), x(3, 5))
case("min axis", lambda a: torch.min(a, 0, keepdim=True), x(3, 5))
case("argmax", torch.argmax, x(3, 5))
case("argmax axis", lambda a: torch.argmax(a, 1, keepdim=True), x(3, 5))
case("argmax ties", lambda a: torch.argmax(a, 0), torch.tensor([1.0, 3.0, 3.0]))
case("argmin nan", lambda a: torch.argmin(a, 0), NAN)
case("any", torch.any, b(3, 5))
case("any axis", lambda a: a.any(1), n(3, 5, low=0, high=2))
case("all axes", lambda a: torch.all(a, dim=(0, 1)), b(3, 5))
case("all uint8", lambda a: torch.all(a, 0), n(3, 5, low=0, high=2, dtype=u8))
case("var", lambda a: a.var(1), x(3, 5))
case("var population", lambda a: a.var((0, 1), correction=0), x(3, 5))
case("std", lambda a: a.std(-1, keepdim=True), x(3, 5))
case("var_mean", lambda a: torch.var_mean(a, 1), x(3, 5))
case("std_mean", lambda a: torch.std_mean(a, 1), x(3, 5))
case("logsumexp", lambda a: torch.logsumexp(a, 1), x(3, 5))
case("vector norm", lambda a: torch.linalg.vector_norm(a, 2, 1), x(3, 5))
case("norm 1", lambda a: a.norm(1, dim=0), x(3, 5))
case("cumsum", lambda a: a.cumsum(1), x(3, 5))
case("cumsum integers", lambda a: a.cumsum(0), n(3, 5, dtype=i32))
case("cumprod", lambda a: a.cumprod(1), x(3, 5))
case("count_nonzero", torch.count_nonzero, n(9, low=0, high=2))
case("softmax", lambda a: F.softmax(a, 1), x(3, 5))
case("softmax dtype", lambda a: F.softmax(a, 0, dtype=torch.float64), x(3, 5))
case("log_softmax", lambda a: F.log_softmax(a, -1), x(3, 5))

for _size in (1, 2, 7, 61):
    case(f"logcumsumexp {_size}", lambda a: torch.logcumsumexp(a, 1), x(3, _size, 2))
case("logcumsumexp far apart", lambda a: torch.logcumsumexp(a, 0), x(9) * 300)
case(
    "logcumsumexp of infinities",
    lambda a: torch.logcumsumexp(a, 0),
    torch.tensor([float("-inf"), float("-inf"), 1.0, float("inf"), float("inf")]),
)
case("logcumsumexp of a number", lambda a: torch.logcumsumexp(a, 0), torch.tensor(2.0))
