"""Functions that move elements, look them up, or make them."""

from __future__ import annotations

import torch
from case import b, case, i32, n, x
from torch.nn import functional as F

# Shapes
case("view", lambda a: a.view(6, -1) + 1, x(3, 4, 5))
case("permute", lambda a: a.permute(2, 0, 1).contiguous() + 0, x(3, 4, 5))
case("transpose", lambda a: a.transpose(-1, 0) * 2, x(3, 4, 5))
case("expand", lambda a: a.expand(2, 3, 4) + 1, x(3, 1))
case("squeeze", lambda a: (a.squeeze() + 1, a.squeeze(0) + 1, a.squeeze(1) + 1), x(1, 3, 1))
case("unsqueeze", lambda a: a.unsqueeze(-1) + 1, x(3))
case("slice", lambda a: a[1:-1, ::2] + 0, x(5, 7))
case("slice far", lambda a: a[:, 2:100] + 0, x(5, 7))
case("slice empty", lambda a: a[3:2] + 0, x(5, 7))
case("select", lambda a: a[:, -1] + 0, x(5, 7))
case("split", lambda a: [e + 1 for e in a.split(3, 1)], x(2, 8))
case("split sizes", lambda a: [e + 1 for e in a.split([1, 4], 0)], x(5, 2))
case("chunk", lambda a: [e + 1 for e in a.chunk(3, 1)], x(2, 8))
case("unbind", lambda a: [e + 1 for e in a.unbind(1)], x(2, 3))
case("cat", lambda a, c: torch.cat([a, c], 1), x(2, 3), x(2, 5))
case("cat mixed", lambda a, c: torch.cat([a, c]), n(2), x(3))
case("cat with nothing", lambda a, c: torch.cat([a, c], 1), x(2, 3), x(0))
case("stack", lambda a, c: torch.stack([a, c], 1), x(2, 3), x(2, 3))
case("pad", lambda a: F.pad(a, (1, 2, 0, 3), value=7), x(2, 3, 4))
case("pad negative", lambda a: F.pad(a, (-1, 2)), x(3, 4))
case("pad reflect", lambda a: F.pad(a, (1, 2), mode="reflect"), x(2, 3, 4))
case("pad replicate", lambda a: F.pad(a, (1, 2, 3, 0), mode="replicate"), x(1, 2, 3, 4))
case("flip", lambda a: a.flip(0, 2), x(2, 3, 4))
case("roll", lambda a: a.roll((1, -2), (0, 1)), x(3, 5))
case("roll flat", lambda a: a.roll(2), x(3, 5))
case("repeat", lambda a: a.repeat(2, 1, 3), x(2, 3))
case("tril", lambda a: a.tril(-1), x(4, 5))
case("triu", lambda a: a.triu(1), x(4, 5))
case("pixel_shuffle", lambda a: F.pixel_shuffle(a, 2), x(1, 8, 3, 3))
for how in (
    {"scale_factor": 2},
    {"scale_factor": (3, 2)},
    {"scale_factor": 1.7},
    {"scale_factor": 0.6},
    {"size": (14, 5)},
):
    case(f"nearest {how}", lambda a, how=how: F.interpolate(a, **how), x(1, 2, 6, 17))
    for corners in (False, True):
        more = {**how, "mode": "bilinear", "align_corners": corners}
        case(f"{more}", lambda a, more=more: F.interpolate(a, **more), x(2, 3, 6, 17))
case("repeat_interleave", lambda a: a.repeat_interleave(2, 1), x(2, 3))
case("movedim", lambda a: a.movedim(0, -1) + 0, x(2, 3, 4))
case("slice_scatter", lambda a, s: torch.slice_scatter(a, s, 1, 1, 6, 2), x(2, 7), x(2, 3))
case("select_scatter", lambda a, s: torch.select_scatter(a, s, 0, -1), x(3, 4), x(4))
case("assigned slice", lambda a, s: a.clone().index_put((torch.tensor([0, 2]),), s), x(3, 4), x(4))

# Views by strides
case("diagonal", lambda a: torch.diagonal(a, 1, 0, 2) + 1, x(3, 4, 5))
case("diagonal below", lambda a: torch.diagonal(a, -1) * 2, x(5, 3))
case("trace", torch.trace, x(4, 6))
case("unfold", lambda a: a.unfold(1, 3, 2) + 1, x(2, 8, 3))
case("as_strided", lambda a: a.as_strided((2, 3), (2, 1), 1) + 1, x(3, 4))
case("as_strided of a transposed", lambda a: (a * 2).as_strided((3, 2), (1, 4)) + 1, x(3, 4).t())

# Indexing
case("index", lambda a, i: a[i], x(5, 3), n(4, low=-5, high=5))
case("index two", lambda a, i, j: a[i, j], x(5, 3), n(4, 1, low=0, high=5), n(2, low=0, high=3))
case("index between", lambda a, i: a[:, i], x(2, 5, 3), n(4, low=0, high=5))
case("take", lambda a, i: a.take(i), x(5, 3), n(2, 4, low=-15, high=15))
case("gather", lambda a, i: a.gather(1, i), x(3, 5), n(3, 2, low=0, high=5))
case("index_select", lambda a, i: a.index_select(1, i), x(3, 5), n(4, low=0, high=5))
case("embedding", lambda w, i: F.embedding(i, w), x(7, 4), n(2, 3, low=0, high=7))
case("embedding int32", lambda w, i: F.embedding(i, w), x(7, 4), n(3, low=0, high=7, dtype=i32))
case("scatter", lambda a, s: a.scatter(1, torch.tensor([[0, 2], [1, 0]]), s), x(2, 4), x(2, 4))
case("scatter value", lambda a: a.scatter(1, torch.tensor([[0], [3]]), 9.0), x(2, 4))
case("scatter_add", lambda a, i, s: a.scatter_add(0, i, s), x(4), n(6, low=0, high=4), x(6))
case(
    "index_put accumulate",
    lambda a, i, s: a.index_put((i,), s, True),
    x(4, 2),
    n(6, low=0, high=4),
    x(6, 2),
)
case("index_put mask rows", lambda a, m, s: a.index_put((m,), s), x(4, 2), b(4), x(2))
case("index_put mask one row", lambda a, m, s: a.index_put((m,), s), x(4, 2), b(4), x(1, 2))
case("index_put mask added", lambda a, m, s: a.index_put((m,), s, True), x(4, 2), b(4), x(2))
case("index_put mask", lambda a, m: a.index_put((m,), torch.tensor(2.0)), x(4, 2), b(4))
case(
    "index_add",
    lambda a, i, s: a.index_add(0, i, s, alpha=2),
    x(4, 2),
    n(6, low=0, high=4),
    x(6, 2),
)
_copied = lambda a, i, s: a.index_copy(0, i, s)
case("index_copy", _copied, x(4, 5), n(3, low=0, high=1) + torch.arange(3), x(3, 5))
case("index_copy of one", _copied, x(4), torch.tensor(2), x(1))
case("index_copy into a number", _copied, x(), torch.tensor([0]), x(1))
case("index_fill", lambda a, i: a.index_fill(-1, i, 2.5), x(4, 5), n(3, low=0, high=5))
case(
    "index_fill apart", lambda a, i, v: a.index_fill(0, i, v), x(5, 4).t(), n(2, low=0, high=4), x()
)
case("one_hot", lambda i: F.one_hot(i, 5), n(4, low=0, high=5))

# Creation
case("arange", lambda a: a + torch.arange(5), x(5))
case("arange float", lambda a: a + torch.arange(0.5, 3, 0.5), x(5))
case("arange down", lambda a: a + torch.arange(5, 0, -1), n(5))
case("full", lambda a: a + torch.full((2, 1), 3), x(2, 3))
case("zeros_like", lambda a: torch.zeros_like(a) + a, x(2, 3))
case("ones", lambda a: torch.ones(3, dtype=i32) + a, n(3))
case("new_full", lambda a: a.new_full((2,), 1.5) * a, x(2))
case("eye", lambda a: torch.eye(3, dtype=a.dtype) @ a, x(3, 2))
case("linspace", lambda a: torch.linspace(0, 1, 5) * a, x(5))
case("scalar tensor", lambda a: a * torch.tensor(2.5), x(5))
case("tril_indices", lambda a: torch.tril_indices(4, 4) + a, n(1))

for _widths in ((-4, 5, 0, 0), (0, 0, 2, -4), (5, -4, -4, 3), (-1, 1, -1, -1)):
    case(
        f"edges repeated or cut {_widths}",
        lambda a, w=_widths: F.pad(a, w, "replicate"),
        x(2, 3, 4, 4),
    )
case("reflections of no rows", lambda a: F.pad(a, (1, 2), "reflect"), x(0, 3, 3))
for _way in ("bilinear", "nearest"):
    for _outside in ("zeros", "border", "reflection"):
        case(
            f"grid_sample of a volume {_way} {_outside}",
            lambda a, g, way=_way, outside=_outside: F.grid_sample(
                a, g, way, outside, align_corners=False
            ),
            *(x(2, 3, 4, 5, 6), x(2, 2, 3, 2, 3, low=-1.4, high=1.4)),
        )
for _size in ((3, 3), (5, 8), (13, 26)):
    case(
        f"a smooth image {_size}",
        lambda a, size=_size: F.interpolate(a, size, mode="bilinear", antialias=True),
        x(2, 3, 10, 20),
    )
case(
    "a smooth image by factors",
    lambda a: F.interpolate(a, scale_factor=(0.7, 0.45), mode="bilinear", antialias=True),
    x(1, 2, 10, 20),
)
