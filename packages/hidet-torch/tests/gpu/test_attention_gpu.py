"""Attention on a GPU: as near to float64 as PyTorch's own, whatever the sizes and masks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from hidet_torch.backend import hidet

pytestmark = pytest.mark.gpu
DTYPES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)

SIZES = [
    # batch, heads, heads of k and v, rows, keys, size, causal
    (1, 12, 12, 128, 128, 64, False),
    (2, 4, 4, 1, 1, 32, True),
    (2, 6, 2, 7, 129, 40, False),
    (1, 8, 2, 333, 333, 128, True),
    (1, 3, 3, 65, 2, 72, False),
    (2, 4, 1, 130, 517, 33, True),
    (1, 2, 2, 200, 300, 256, True),
    (1, 32, 8, 1, 4096, 128, False),
    (1, 4, 4, 3, 10_007, 64, False),
    (4, 16, 16, 1000, 1000, 64, True),
]
MASKS: dict[str, Any] = {
    "added": lambda m, n, dtype: torch.randn(1, 1, m, n).to(dtype),
    "by key": lambda m, n, dtype: (torch.rand(2, 1, 1, n) < 0.7).index_fill(3, torch.tensor(0), 1),
    "by row and key": lambda m, n, dtype: torch.ones(4, m, n).tril(n - m).bool(),
}


def check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: Any) -> None:
    """The compiled function is about as near to float64 as PyTorch is."""
    torch._dynamo.reset()

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, **options)

    compiled = torch.compile(attend, backend=hidet, fullgraph=True, options={"fallback": "error"})
    wide = dict(options)
    if options.get("attn_mask") is not None and options["attn_mask"].is_floating_point():
        wide["attn_mask"] = options["attn_mask"].double()
    exact = functional.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), **wide)
    ours, theirs = (((f(q, k, v) - exact).norm() / exact.norm()).item() for f in (compiled, attend))
    assert ours <= 2 * theirs + 8 * torch.finfo(torch.float32).eps


@torch.no_grad()
@DTYPES
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_sizes(sizes: tuple[Any, ...], dtype: torch.dtype) -> None:
    batch, heads, shared, m, n, size, causal = sizes
    torch.manual_seed(0)
    shapes = ((batch, heads, m, size), *[(batch, shared, n, size)] * 2)
    given = [torch.randn(shape, device="cuda").to(dtype) for shape in shapes]
    check(*given, is_causal=causal, enable_gqa=heads != shared)


@torch.no_grad()
@DTYPES
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(("m", "n"), [(130, 517), (1, 700)])
def test_masks(name: str, m: int, n: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    shapes = ((2, 4, m, 64), (2, 4, n, 64), (2, 4, n, 64))
    given = [torch.randn(shape, device="cuda").to(dtype) for shape in shapes]
    check(*given, attn_mask=MASKS[name](m, n, dtype).cuda(), scale=0.3)


@torch.no_grad()
def test_transposed_heads_of_one_product() -> None:
    torch.manual_seed(0)
    parts = torch.randn(2, 197, 3, 12, 64, device="cuda").half().permute(2, 0, 3, 1, 4)
    check(*parts)
