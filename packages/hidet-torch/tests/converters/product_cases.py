"""Products, convolutions, pooling, norms, attention."""

from __future__ import annotations

import torch
from case import NAN, aten, case, x
from torch.nn import functional as F

# Products
case("mm", torch.mm, x(3, 4), x(4, 5))
case("bmm", torch.bmm, x(2, 3, 4), x(2, 4, 5))
case("matmul broadcast", torch.matmul, x(2, 1, 3, 4), x(6, 4, 5))
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
case(
    "grid_sample",
    lambda a, g: F.grid_sample(a, g, align_corners=False),
    x(1, 2, 5, 6),
    x(1, 3, 4, 2, low=-1.2, high=1.2),
)

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

for _rows in (1, 2, 7):
    for _p in (1.0, 2.0, float("inf")):
        case(f"pdist {_rows} {_p}", lambda a, p=_p: F.pdist(a, p), x(_rows, 3))
