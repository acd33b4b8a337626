"""Attention as models of PyTorch spell it is one operator, and right."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from tracing import Wrapped

import hidet_torch
from hidet.optimize import optimize
from hidet.testing.graph_passes import kinds

B, H, M, N, D = 2, 4, 5, 7, 8


def alibi(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
    distance = torch.arange(M)[None, :] - torch.arange(M)[:, None]
    scores = q @ k.mT / math.sqrt(D) + slopes[:, None, None] * distance
    later = torch.triu(torch.full((M, M), -math.inf, dtype=q.dtype), 1)
    return torch.softmax(scores + later, -1) @ v


def bias_and_padding(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, kept: Tensor) -> Tensor:
    scores = q @ k.mT * 0.3 + bias
    return torch.softmax(scores.masked_fill(kept[:, None, None] < 0, -1e9), -1) @ v


def scale_last(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return torch.softmax((q @ k.mT + bias) / 3, -1) @ v


def cosine(q: Tensor, k: Tensor, v: Tensor, scale: Tensor) -> Tensor:
    q, k = (torch.nn.functional.normalize(each, dim=-1) for each in (q, k))
    return (q @ k.mT * scale.clamp(max=4.0).exp()).softmax(-1) @ v


def repeated_heads(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (each[:, :, None].expand(B, H // 2, 2, N, D).reshape(B, H, N, D) for each in (k, v))
    return torch.softmax(q @ k.mT * 0.3, -1, dtype=torch.float32).to(q.dtype) @ v


def interleaved_heads(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (each.repeat_interleave(2, 1) for each in (k, v))
    return (q @ k.mT * 0.3).softmax(-1) @ v


def heads_in_an_axis(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    grouped = q.view(B, H // 2, 2, M, D)
    weights = (grouped @ k[:, :, None].mT * 0.3).softmax(-1)
    return (weights @ v[:, :, None]).reshape(B, H, M, D)


def one_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k[:, :1].mT * 0.3).softmax(-1) @ v[:, :1]


def einsum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    weights = (torch.einsum("bqhd,bkhd->bhqk", q, k) * 0.3).softmax(-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


def one_projection(x: Tensor) -> Tensor:
    q, k, v = x.view(B, M, 3, H, D).permute(2, 0, 3, 1, 4).unbind(0)
    return (q @ k.mT * 0.3).softmax(-1) @ v


def bloom(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor, far: Tensor) -> Tensor:
    q, k, v = (each.reshape(B * H, -1, D) for each in (q, k, v))
    scores = slopes.repeat(B, 1, 1).baddbmm(q, k.mT, beta=1.0, alpha=0.3).view(B, H, M, N)
    scores = torch.masked_fill(scores, far > 1, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype)
    return torch.bmm(weights.view(B * H, M, N), v).view(B, H, M, D)


def windows(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, mask: Tensor) -> Tensor:
    scores = (q @ k.mT * 0.3 + bias).view(1, B, H, M, N) + mask[None, :, None]
    return scores.view(B, H, M, N).softmax(-1) @ v


def channels_first(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.softmax(torch.bmm(q.transpose(1, 2), k) * 0.3, 2)
    return torch.bmm(v, weights.transpose(1, 2))


Q, K, HALF = (B, H, M, D), (B, H, N, D), (B, H // 2, N, D)
CASES: tuple[tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]], ...] = (
    (alibi, (Q, Q, Q, (H,))),
    (bias_and_padding, (Q, K, K, (H, M, N), (B, N))),
    (scale_last, (Q, K, K, (B, 1, 1, N))),
    (cosine, (Q, K, K, (H, 1, 1))),
    (repeated_heads, (Q, HALF, HALF)),
    (interleaved_heads, (Q, HALF, HALF)),
    (heads_in_an_axis, (Q, HALF, HALF)),
    (one_head, (Q, HALF, HALF)),
    (einsum, (Q, K, K)),
    (one_projection, ((B, M, 3 * H * D),)),
    (bloom, (Q, K, K, (H, 1, N), (B, 1, M, N))),
    (windows, (Q, K, K, (1, H, M, N), (B, M, N))),
    (channels_first, ((B, D, M), (B, D, N), (B, 3, N))),
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(("function", "shapes"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_attention_is_found(
    function: Callable[..., Tensor], shapes: tuple[tuple[int, ...], ...], dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(shape, dtype=dtype) for shape in shapes]
    compiled = hidet_torch.compile(Wrapped(function).eval(), *inputs)
    found = kinds(optimize(compiled.graph(), scheduled=lambda op: op.name == "attention"))
    assert found.count("attention") == 1
    assert not {"softmax", "matmul"} & set(found)
    if function in (repeated_heads, interleaved_heads, heads_in_an_axis, one_head):
        assert "expand" not in found
    (result,) = compiled(*inputs)
    exact = function(*(each.double() for each in inputs))
    rounding = torch.finfo(dtype).eps
    torch.testing.assert_close(result.double(), exact, rtol=8 * rounding, atol=16 * rounding)
