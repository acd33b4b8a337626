"""Infinities, NaN, subnormal and largest numbers: what is finite, infinite or NaN is so in eager.

Where eager itself strays from float64, float64 counts (`WORSE`), and either of them where only what
never leaves a kernel is too large for its type (`BETWEEN`; with `round_each` eager does). All
operators of a family are one graph, here, by CUDA kernels in the simulator, and on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
import torch
from compiling import compiled
from torch.nn import functional as F

from hidet.options import options

INF, NAN = float("inf"), float("nan")
TYPES = torch.float32, torch.float16, torch.bfloat16
ON_GPU = [pytest.param("cuda", of, marks=pytest.mark.gpu) for of in TYPES]
PRODUCT_KINDS = [("cpu", torch.float32), ("sim", torch.float32), ("sim", torch.float16), *ON_GPU]
KINDS = [*PRODUCT_KINDS, ("cpu", torch.float16), ("cpu", torch.bfloat16)]
Table = dict[str, Callable[..., Any]]

ELEMENTS: Table = {
    name: getattr(torch if hasattr(torch, name) else F, name)
    for name in (
        "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "atan", "sinh", "tanh", "erf",
        "floor", "round", "sign", "reciprocal", "sigmoid", "square", "relu", "isfinite", "isinf",
        "nan_to_num", "relu6", "silu", "mish", "hardswish", "softsign", "tanhshrink", "selu",
        "leaky_relu", "gelu", "logsigmoid", "softplus", "hardtanh", "softshrink",
    )
} | {
    "gelu tanh": lambda v: F.gelu(v, approximate="tanh"),
    "clamp": lambda v: v.clamp(-1, 1.5),
    "power": lambda v: torch.stack([v**2, v**3, v**-1, v**-2, v**0, v**2.5, 2.0**v, 0.5**v]),
    "divide": lambda v: torch.stack([v / 0.0, 1.0 / v, v / 3.0, torch.floor_divide(v, 3.0)]),
    "nothing left": lambda v: torch.stack([v - v, v * 0.0, v * 4.0 - v * 4.0, v / v]),
    "beyond and back": lambda v: torch.stack([v * 2.0 / 2.0, (v + v) - v, (v * v).sqrt()]),
    "there and back": lambda v: v.exp().log(),
    "spelled silu": lambda v: v * (1.0 / (1.0 + (-v).exp())),
    "extremes": lambda v: torch.stack([torch.maximum(v, v.flip(0)), torch.fmin(v, v.flip(0))]),
    "compared": lambda v: torch.stack([v < v.flip(0), v >= v.flip(0), v == v, v != v.flip(0)]),
    "where": lambda v: torch.where(v.isfinite(), v, torch.zeros_like(v)),
    "masked fill": lambda v: v.masked_fill(v > 0, -INF),
    "narrowed": lambda v: v.to(torch.float16).float() + v.to(torch.bfloat16).float(),
    "whole numbers": lambda v: v.clamp(-100, 100).nan_to_num().to(torch.int8),
    "truth": lambda v: v.to(torch.bool),
    "logaddexp": lambda v: torch.logaddexp(v, v.flip(0)),
}  # fmt: skip
ROWS: Table = {
    name: getattr(torch, name)
    for name in ("sum", "mean", "amax", "amin", "argmax", "argmin", "var", "logsumexp", "softmax",
                 "log_softmax", "all", "cumsum")
} | {
    "sort": lambda v, axis: v.sort(axis)[0],
    "max": lambda v, axis: v.max(axis),
    "norm": lambda v, axis: v.norm(dim=axis),
    "layer_norm": lambda v, axis: F.layer_norm(v, v.shape[-1:]),
    "rms_norm": lambda v, axis: v * torch.rsqrt(v.pow(2).mean(axis, keepdim=True) + 1e-6),
    "group_norm": lambda v, axis: F.group_norm(v[:, :128], 4),
    "columns": lambda v, axis: (v.sum(0), v.amax(0), v.softmax(0)),
}  # fmt: skip
IMAGES: Table = {
    "max": lambda v: F.max_pool2d(v, 3, 2, 1, return_indices=True),
    "mean": lambda v: (F.avg_pool2d(v, 3, 2, 1), F.adaptive_avg_pool2d(v, 2)),
    "batch_norm": lambda v: F.batch_norm(v, v.new_zeros(4), v.new_ones(4)),
    "padded": lambda v: F.pad(v, (1, 0, 2, 1), value=-INF).amax(1),
    "picked": lambda v: v.reshape(8, -1)[torch.tensor([7, 0, 3, 0], device=v.device)],
    "added": lambda v: v.new_zeros(8).index_add(
        0, torch.arange(8, device=v.device) // 3, v[:, :, 0, 0].reshape(8)
    ),
}


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any = None) -> torch.Tensor:
    """Attention as models spell it."""
    scores = q @ k.transpose(-1, -2) * 0.25
    return torch.softmax(scores if mask is None else scores + mask, -1) @ v


PRODUCTS: Table = {
    "matmul": lambda q, k, v, w: v[..., 1:] @ k[..., 1:].transpose(-1, -2),
    "one row": lambda q, k, v, w: q[..., 7:8, :] @ v[..., :16, :],
    "linear": lambda q, k, v, w: F.relu(F.linear(q[0], w)),
    "attention": lambda q, k, v, w: attended(q, k, v),
    "masked": lambda q, k, v, w: attended(v, k, v, (v[:, :, :1] > 0).to(v.dtype)),
}
WORSE = {
    "gelu",  # eager: NaN of inf, inf of the largest
    "group_norm",  # eager: NaN for other groups of a row, in float32
    *PRODUCTS,  # eager: NaN in rows beside, in bfloat16
}

BETWEEN = {"beyond and back", "nothing left"}


def elements(of: torch.dtype) -> torch.Tensor:
    """Numbers of all kinds."""
    limits = torch.finfo(of)
    ends = [
        INF,
        NAN,
        0.0,
        1.0,
        0.5,
        limits.max,
        limits.tiny,
        limits.tiny / 4,
        3.0,
        12.0,
        90.0,
        300.0,
    ]
    return torch.tensor([*ends, *(-each for each in ends)]).to(of)


def rows(of: torch.dtype) -> torch.Tensor:
    """Rows of numbers with some that are none, and rows of nothing else."""
    plain = torch.randn(8, 131)
    for row, found in enumerate(([INF], [-INF], [NAN], [INF, -INF], [-INF, NAN], [INF, INF])):
        for number, value in enumerate(found):
            plain[row, (number * 67 + 5) % 131] = value
    plain[7, :70] = -INF
    plain[7, 70:] = -200.0
    whole = torch.tensor([[-INF], [INF], [NAN], [torch.finfo(torch.float16).max], [0.0]])
    return torch.cat([plain, whole.expand(5, 131)]).to(of)


def image(of: torch.dtype) -> torch.Tensor:
    """Planes with an infinity or NaN at an edge and within, and one of nothing else."""
    x = torch.randn(2, 4, 9, 11)
    x[0, 0, 0, 0], x[0, 1, 5, 6], x[1, 2, 8, 10] = INF, NAN, -INF
    x[1, 3, 3, 3:5] = torch.tensor([INF, -INF])
    x[1, 0] = -INF
    return x.to(of)


def operands(of: torch.dtype) -> tuple[torch.Tensor, ...]:
    """q, k, v and a weight with an infinity or NaN at corners, at ends of k and within."""
    q, k, v, w = (torch.randn(s) for s in ((2, 17, 16), (2, 35, 16), (2, 35, 16), (67, 16)))
    q[0, 0, 0], q[1, 16, 15], k[0, 34, 3], k[1, 1, 15] = INF, NAN, -INF, INF
    v[0, 34, 15], v[1, 17, 7], w[66, 15], w[3, 3] = INF, NAN, INF, -INF
    return tuple(each.to(of) for each in (q, k, v, w))


def kinds(x: torch.Tensor) -> torch.Tensor:
    """0, 1, -1 or 2 for what is finite, infinite or NaN; numbers of no float as they are."""
    if not x.is_floating_point():
        return x
    return torch.where(x.isnan(), 2, torch.where(x.isinf(), x.sign(), 0)).to(torch.int8)


def several(found: Any) -> tuple[torch.Tensor, ...]:
    """What a function gave, as a tuple."""
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def in_float64(function: Callable[..., Any], *given: Any) -> tuple[torch.Tensor, ...]:
    """The results of a function in float64, in the type of its first operand."""
    wide = [each.double() if isinstance(each, torch.Tensor) else each for each in given]
    return tuple(each.to(given[0].dtype) for each in several(function(*wide)))


def ran(function: Callable[..., Any], target: str, *given: Any) -> Any:
    """What the function gives, compiled for a target; tensors may have to move there."""
    if target != "cuda":
        with options(target=target):
            return compiled(function)(*given)
    return compiled(function)(*(each.cuda() if hasattr(each, "cuda") else each for each in given))


def unlike(table: Table, target: str, *given: Any, between: Collection[str] = ()) -> dict[str, Any]:
    """The operators whose results are not of the kinds that they are in eager, with some places.

    Those of `between` may be of the kinds that they are in float64, and infinite where eager has
    NaN: a product and a sum in one step give -inf for `x * 4 - x * 4` where `x * 4` is too large.
    """

    def all_of_them(*args: Any) -> list[tuple[torch.Tensor, ...]]:
        return [several(function(*args)) for function in table.values()]

    wrong = {}
    for (name, function), found in zip(
        table.items(), ran(all_of_them, target, *given), strict=True
    ):
        exact, eager = in_float64(function, *given), several(function(*given))
        ways = [exact] if name in WORSE else [eager, exact] if name in between else [eager]
        for mine, *right in zip((each.cpu() for each in found), *ways, strict=True):
            unlike_all = torch.stack([kinds(mine) != kinds(each) for each in right]).all(0)
            if name in between:
                unlike_all &= mine.isfinite() | right[0].isfinite()
            places = unlike_all.nonzero()[:4].tolist()
            if places:
                values = [(p, mine[tuple(p)].item(), right[0][tuple(p)].item()) for p in places]
                wrong[name] = values
    return wrong


@pytest.mark.parametrize(("target", "of"), KINDS, ids=str)
def test_elements(target: str, of: torch.dtype) -> None:
    between = () if of is torch.float32 else BETWEEN
    assert unlike(ELEMENTS, target, elements(of), between=between) == {}


@pytest.mark.parametrize(("target", "of"), [*KINDS[2:3], *ON_GPU[1:], *KINDS[-2:]], ids=str)
def test_elements_rounded_as_eager_rounds_them(target: str, of: torch.dtype) -> None:
    with options(round_each=True):
        assert unlike(ELEMENTS, target, elements(of)) == {}


@pytest.mark.parametrize(("target", "of"), KINDS, ids=str)
def test_rows(target: str, of: torch.dtype) -> None:
    assert unlike(ROWS, target, rows(of), -1) == {}


@pytest.mark.parametrize(("target", "of"), KINDS, ids=str)
def test_images(target: str, of: torch.dtype) -> None:
    assert unlike(IMAGES, target, image(of)) == {}


@pytest.mark.parametrize(("target", "of"), PRODUCT_KINDS, ids=str)
def test_products(target: str, of: torch.dtype) -> None:
    assert unlike(PRODUCTS, target, *operands(of)) == {}


CONVOLUTIONS = {
    "first": ((3, 8, 7), {"stride": 2, "padding": 3}),
    "long steps": ((3, 8, 5), {"stride": 4, "padding": 2}),
    "patches": ((3, 8, 4), {"stride": 4}),
    "deep": ((16, 24, 3), {"padding": 1}),
    "depthwise": ((16, 16, 3), {"padding": 1, "groups": 16}),
}


@pytest.mark.parametrize(("target", "of"), PRODUCT_KINDS, ids=str)
def test_convolutions(target: str, of: torch.dtype) -> None:
    """An infinity or NaN spoils the windows that it is in, and no others."""
    x = torch.randn(1, 16, 9, 11)
    x[0, 1, 0, 0], x[0, 2, 4, 9], x[0, 0, 8, 2] = INF, NAN, -INF
    x = x.to(of)
    nets = {
        name: torch.nn.Conv2d(*shape, **how).to(of) for name, (shape, how) in CONVOLUTIONS.items()
    }

    def all_of_them(v: torch.Tensor) -> list[torch.Tensor]:
        return [net(v[:, : net.in_channels]) for net in nets.values()]

    with torch.no_grad():
        for net in nets.values():
            net.to("cuda" if target == "cuda" else "cpu")
        given = ran(all_of_them, target, x)
        for (name, net), found in zip(nets.items(), given, strict=True):
            wanted = net.cpu().double()(x[:, : net.in_channels].double()).to(of)
            assert torch.equal(kinds(found.cpu()), kinds(wanted)), name
