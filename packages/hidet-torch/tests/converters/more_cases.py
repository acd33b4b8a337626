"""The rest of the functions of PyTorch that are traced, imported, and compared with eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import CASES, NAN, Case, aten, b, case, i32, n, x
from torch.nn import functional as F

__all__ = ["CASES", "Case"]

case("mv", torch.mv, x(3, 4), x(4))
case("dot", torch.dot, x(4), x(4))
case("addmm", lambda c, a, d: torch.addmm(c, a, d, beta=0.5, alpha=2), x(5), x(3, 4), x(4, 5))
case("addmm beta 0", lambda c, a, d: torch.addmm(c, a, d, beta=0), NAN[:5], x(3, 4), x(4, 5))
case("baddbmm", torch.baddbmm, x(2, 3, 5), x(2, 3, 4), x(2, 4, 5))
case("linear", F.linear, x(2, 3, 4), x(5, 4), x(5))
case("linear no bias", F.linear, x(4), x(5, 4))
case("einsum", lambda a, c: torch.einsum("bij,bkj->bik", a, c), x(2, 3, 4), x(2, 5, 4))

# Convolution and pooling
case("conv2d", F.conv2d, x(2, 3, 6, 7), x(4, 3, 3, 3), x(4))
case(
    "conv2d options",
    lambda a, w: F.conv2d(a, w, None, (2, 1), (1, 2), (1, 2), 2),
    x(2, 4, 6, 9), x(6, 2, 3, 3),
)  # fmt: skip
case(
    "conv2d depthwise",
    lambda a, w: F.conv2d(a, w, padding=1, groups=4),
    x(1, 4, 5, 5),
    x(4, 1, 3, 3),
)
case("conv2d same", lambda a, w: F.conv2d(a, w, padding="same"), x(1, 2, 5, 5), x(3, 2, 3, 3))
case("conv1d", lambda a, w: F.conv1d(a, w, stride=2), x(2, 3, 9), x(4, 3, 3))
case("max_pool2d", lambda a: F.max_pool2d(a, 3, 2, 1), x(1, 2, 7, 6))
case("max_pool2d indices", lambda a: F.max_pool2d(a, 2, return_indices=True), x(1, 2, 6, 6))
case("max_pool2d ceil", lambda a: F.max_pool2d(a, 3, 2, ceil_mode=True), x(1, 2, 8, 8))
case("max_pool2d unbatched", lambda a: F.max_pool2d(a, 2), x(2, 6, 6))
case("avg_pool2d", lambda a: F.avg_pool2d(a, 3, 2, 1), x(1, 2, 7, 6))
case(
    "avg_pool2d inside", lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False), x(1, 2, 7, 6)
)
case("avg_pool2d divisor", lambda a: F.avg_pool2d(a, 2, divisor_override=3), x(1, 2, 6, 6))
case("avg_pool1d", lambda a: F.avg_pool1d(a, 2), x(1, 2, 6))
case("adaptive_avg_pool2d", lambda a: F.adaptive_avg_pool2d(a, (3, 2)), x(1, 2, 7, 6))
case("adaptive_avg_pool2d one", lambda a: F.adaptive_avg_pool2d(a, 1), x(1, 2, 7, 6))
case("adaptive_max_pool2d", lambda a: F.adaptive_max_pool2d(a, (3, 2)), x(1, 2, 7, 6))

# Norms and attention
case("layer_norm", lambda a, w, c: F.layer_norm(a, (6,), w, c), x(2, 3, 6), x(6), x(6))
case("layer_norm two axes", lambda a: F.layer_norm(a, (3, 6)), x(2, 3, 6))
case("native_layer_norm", lambda a: aten.native_layer_norm(a, (6,), None, None, 1e-5), x(3, 6))
case("group_norm", lambda a, w, c: F.group_norm(a, 2, w, c), x(2, 4, 5), x(4), x(4))
case(
    "native_group_norm",
    lambda a: aten.native_group_norm(a, None, None, 2, 4, 5, 2, 1e-5),
    x(2, 4, 5),
)
case(
    "batch_norm",
    lambda a, m, v, w, c: F.batch_norm(a, m, v, w, c),
    x(2, 3, 4, 4), x(3), x(3, low=0.5), x(3), x(3),
)  # fmt: skip
case("instance_norm", F.instance_norm, x(2, 3, 5, 5))
case("rms_norm", lambda a, w: F.rms_norm(a, (6,), w, 1e-6), x(3, 6), x(6))
case("rms_norm no eps", lambda a: F.rms_norm(a, (6,), None, 1e-5), x(3, 6))
for _mask in (None, "bool", "float"):
    case(
        f"sdpa mask {_mask}",
        lambda q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m),
        x(2, 3, 4, 8), x(2, 3, 5, 8), x(2, 3, 5, 6),
        *({"bool": [torch.ones(4, 5).tril().bool()], "float": [x(2, 1, 4, 5)]}.get(_mask, [])),
    )  # fmt: skip
case(
    "sdpa causal",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
    x(2, 3, 4, 8), x(2, 3, 4, 8), x(2, 3, 4, 8),
)  # fmt: skip

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
case("repeat_interleave", lambda a: a.repeat_interleave(2, 1), x(2, 3))
case("movedim", lambda a: a.movedim(0, -1) + 0, x(2, 3, 4))
case("slice_scatter", lambda a, s: torch.slice_scatter(a, s, 1, 1, 6, 2), x(2, 7), x(2, 3))
case("select_scatter", lambda a, s: torch.select_scatter(a, s, 0, -1), x(3, 4), x(4))
case("assigned slice", lambda a, s: a.clone().index_put((torch.tensor([0, 2]),), s), x(3, 4), x(4))

# Indexing
case("index", lambda a, i: a[i], x(5, 3), n(4, low=-5, high=5))
case("index two", lambda a, i, j: a[i, j], x(5, 3), n(4, 1, low=0, high=5), n(2, low=0, high=3))
case("index between", lambda a, i: a[:, i], x(2, 5, 3), n(4, low=0, high=5))
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
case("index_put mask", lambda a, m: a.index_put((m,), torch.tensor(2.0)), x(4, 2), b(4))
case(
    "index_add",
    lambda a, i, s: a.index_add(0, i, s, alpha=2),
    x(4, 2),
    n(6, low=0, high=4),
    x(6, 2),
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

# Order
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
case("bucketize", lambda a: torch.bucketize(a, torch.tensor([-1.0, 0, 1])), NAN)
case(
    "bucketize right",
    lambda a, c: torch.bucketize(a, c, right=True, out_int32=True),
    n(7, low=0, high=5),
    torch.arange(5),
)
case("histc", lambda a: torch.histc(a, 5, -2, 2), x(40))
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

# Views by strides
case("diagonal", lambda a: torch.diagonal(a, 1, 0, 2) + 1, x(3, 4, 5))
case("diagonal below", lambda a: torch.diagonal(a, -1) * 2, x(5, 3))
case("trace", torch.trace, x(4, 6))
case("unfold", lambda a: a.unfold(1, 3, 2) + 1, x(2, 8, 3))
case("as_strided", lambda a: a.as_strided((2, 3), (2, 1), 1) + 1, x(3, 4))
case("as_strided of a transposed", lambda a: (a * 2).as_strided((3, 2), (1, 4)) + 1, x(3, 4).t())

# Transposed convolutions
case(
    "conv_transpose1d",
    lambda a, w: F.conv_transpose1d(a, w, stride=3, padding=2, output_padding=1),
    x(2, 4, 7),
    x(4, 3, 4),
)
case(
    "conv_transpose2d",
    lambda a, w, v: F.conv_transpose2d(a, w, v, stride=2, padding=1),
    x(1, 4, 5, 6),
    x(4, 3, 3, 3),
    x(3),
)
case(
    "conv_transpose2d groups",
    lambda a, w: F.conv_transpose2d(a, w, stride=(1, 2), padding=(3, 0), groups=2, dilation=2),
    x(1, 4, 8, 6),
    x(4, 3, 3, 2),
)
case(
    "conv_transpose3d",
    lambda a, w: F.conv_transpose3d(a, w, stride=2, padding=3),
    x(1, 2, 4, 4, 4),
    x(2, 3, 3, 3, 3),
)
case(
    "grid_sample",
    lambda a, g: F.grid_sample(a, g, align_corners=False),
    x(1, 2, 5, 6),
    x(1, 3, 4, 2, low=-1.2, high=1.2),
)
case("round decimals", lambda a: torch.round(a, decimals=2), x(9))
case("tril_indices", lambda a: torch.tril_indices(4, 4) + a, n(1))
