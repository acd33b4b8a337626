"""The operators whose schedules are measured, by name."""

from __future__ import annotations

from hidet.graph.operator import Op
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.types import DType, bf16, f16, f32

BERT, LLAMA = ((768, 768), (3072, 768), (768, 3072)), ((2048, 2048), (8192, 2048), (2048, 8192))
LINEAR = (
    *((m, *columns) for m in (1, 16, 128, 512, 2048) for columns in BERT),
    *((m, *columns) for m in (1, 8, 64, 512, 2048) for columns in LLAMA),
    *((197, n, k) for n, k in ((2304, 768), (768, 768))),
    *((64, 14336, 4096), (128, 30522, 768), (300, 1776, 1000)),
    *((2, 4096, 4096), (4, 768, 3072), (6, 3072, 768), (1, 50257, 768), (8, 14336, 4096)),
)  # fmt: skip
"""Rows, columns and the sum's length, of BERT, ViT, Llama and a few that stand alone."""
SQUARE = (512, 1000, 1024, 2048, 4096)
MATMUL = ((4, 4096, 4096), (127, 1021, 509), (128, 50257, 768), (64, 1024, 8192))
"""The same of matmuls whose second operand lies row by row."""
CONVOLUTIONS = (
    *((56, 64, 64, 3, 1), (56, 64, 64, 1, 1), (56, 64, 256, 1, 1), (56, 128, 128, 3, 2)),
    *((28, 128, 128, 3, 1), (28, 128, 512, 1, 1), (28, 256, 256, 3, 2), (14, 256, 256, 3, 1)),
    *((14, 256, 1024, 1, 1), (14, 512, 512, 3, 2), (7, 512, 512, 3, 1), (7, 512, 2048, 1, 1)),
    *((64, 320, 320, 3, 1), (32, 640, 640, 3, 1), (16, 1280, 1280, 3, 1)),
)
"""Pixels along an axis, channels before and after, the window and its step: ResNet, U-Net."""
IMAGES = (1, 8, 32)
ATTENTION = (
    *((1, 12, 12, 128, 128, 64), (8, 12, 12, 128, 128, 64), (1, 12, 12, 1024, 1024, 64)),
    *((1, 32, 8, 512, 512, 64), (1, 32, 8, 2048, 2048, 128), (4, 16, 16, 1024, 1024, 64)),
    *((1, 32, 8, 1, 2048, 128), (8, 32, 8, 1, 2048, 128), (1, 12, 12, 197, 197, 64)),
)
"""Batch, heads of q and of k, rows, keys and the size of a head."""


def problems() -> dict[str, Op]:
    """All operators by name."""
    found: dict[str, Op] = {}
    for dtype in (f16, f32):
        for m, n, k in LINEAR:
            found[f"linear {dtype} {m}x{n}x{k}"] = Linear(dtype[m, k], dtype[n, k], None)
        for n in SQUARE:
            found[f"matmul {dtype} {n}"] = Matmul(dtype[n, n], dtype[n, n])
        for m, n, k in MATMUL:
            found[f"matmul {dtype} {m}x{n}x{k}"] = Matmul(dtype[m, k], dtype[k, n])
        for each in CONVOLUTIONS:
            found |= {f"conv {dtype} {n}x{each}": conv(dtype, n, *each) for n in IMAGES}
    for dtype in (f16, bf16):
        found |= {f"attention {dtype} {each}": attention(dtype, *each) for each in ATTENTION}
    return found


def conv(dtype: DType, n: int, size: int, before: int, after: int, window: int, step: int) -> Conv:
    """A convolution with channels last."""
    around = ((window // 2,) * 2,) * 2
    x, w = dtype[n, size, size, before], dtype[after, window, window, before]
    return Conv(x, w, None, (step, step), around, (1, 1), 1, True)


def attention(dtype: DType, b: int, h: int, g: int, m: int, n: int, d: int) -> Attention:
    """Attention, causal where rows are as many as keys."""
    keys = dtype[b, g, n, d]
    return Attention(dtype[b, h, m, d], keys, keys, None, m == n, d**-0.5)
