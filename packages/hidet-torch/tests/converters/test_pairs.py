"""Complex numbers, compiled as pairs: every operator beside PyTorch in double precision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from tracing import imported, results

import hidet
import hidet_torch
from hidet.graph import evaluate
from hidet_torch.converters.pairs import pairs
from hidet_torch.memory.dtypes import hidet_dtype

random = torch.Generator().manual_seed(0)


def z(*shape: int) -> torch.Tensor:
    return torch.view_as_complex(torch.randn(*shape, 2, generator=random))


def r(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=random) + 0.5


N = torch.tensor([2, 0, 2])

CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "view_as_complex": (lambda x: torch.view_as_complex(x) * 2, (r(3, 5, 2),)),
    "view_as_real": (lambda a: torch.view_as_real(a * 2), (z(3, 5),)),
    "real and imaginary parts": (lambda a: (a.real + 1, a.imag * 2), (z(7),)),
    "complex": (lambda x, y: torch.complex(x, y), (r(3, 1), r(5))),
    "polar": (lambda x, y: torch.polar(x, y), (r(3, 5), r(3, 5))),
    "conj": (lambda a: a.conj() + a, (z(3, 5),)),
    "abs": (torch.abs, (z(129),)),
    "angle": (torch.angle, (z(129),)),
    "exp": (torch.exp, (z(7),)),
    "products": (lambda a, b: a * b, (z(3, 1), z(5))),
    "by reals": (lambda a, x: (a * x, x * a, a / x, a * 3, 2.5 * a), (z(3, 5), r(5))),
    "by numbers": (lambda a, x: (a * 1j, x * (2 - 1j), a / 2, 3 / a), (z(3, 5), r(5))),
    "quotients": (lambda a, b: a / b, (z(3, 5), z(5))),
    "large quotients": (lambda a, b: (a * 1e30) / (b * 1e30), (z(9), z(9))),
    "reciprocal": (torch.reciprocal, (z(7),)),
    "sums": (lambda a, b, x: (a + b, a + x, x - a, 1 - a, 1j + a), (z(3, 1), z(5), r(5))),
    "scaled sums": (lambda a, b: torch.add(a, b, alpha=3) - torch.sub(a, b, alpha=2), (z(5), z(5))),
    "square": (lambda a: (a**2, a.square()), (z(5),)),
    "negative": (lambda a: -a, (z(5),)),
    "totals": (lambda a: (a.sum(), a.sum(1), a.mean(), a.mean(0, keepdim=True)), (z(3, 5),)),
    "cumsum": (lambda a: a.cumsum(1), (z(3, 5),)),
    "matmul": (lambda a, b: (a @ b, a.conj()[None] @ b), (z(3, 5), z(5, 7))),
    "stacks of matmuls": (torch.bmm, (z(2, 3, 5), z(2, 5, 7))),
    "einsum": (lambda a, b: torch.einsum("bix,iox->box", a, b), (z(2, 3, 7), z(3, 5, 7))),
    "outer": (torch.outer, (z(3), z(5))),
    "views": (lambda a: a.t().reshape(3, 1, 5).squeeze(1).expand(2, 3, 5) * 2, (z(5, 3),)),
    "sizes of one": (lambda a: a[None, :, :, None].squeeze((0, 3)) * 2, (z(5, 3),)),
    "more views": (lambda a: a[None].transpose(0, 1).squeeze() * a[..., 0:1], (z(5, 3),)),
    "axes": (lambda a: a.permute(2, 0, 1).contiguous() * 2, (z(2, 3, 5),)),
    "parts": (lambda a: (a[1:, ::2] * 2, a[:, -1] * 2, a.diagonal() * 2), (z(5, 7),)),
    "splits": (lambda a: [e * 2 for e in (*a.split([2, 3]), *a.unbind(1))], (z(5, 3),)),
    "lookups": (lambda a, n: (a[n], a.index_select(1, n), a.gather(0, n[None])), (z(3, 3), N)),
    "written": (lambda a, b, n: torch.index_put(a, (n,), b), (z(3, 5), z(2, 5), N[:2])),
    "slices written": (lambda a, b: torch.slice_scatter(a, b, 0, 1, 3), (z(5, 3), z(2, 3))),
    "places written": (lambda a, b: torch.select_scatter(a, b, 1, 2), (z(5, 3), z(5))),
    "copied": (lambda a, b: torch.zeros_like(a).copy_(b) + a, (z(5, 3), z(3))),
    "zeros": (lambda a: torch.zeros(3, dtype=torch.complex64) + a, (z(3),)),
    "cat": (lambda a, x: torch.cat([a, x, a]), (z(3, 5), r(2, 5))),
    "stack": (lambda a, x: torch.stack([a * 2, a], 1), (z(3, 5), r(3, 5))),
    "where": (lambda a, b, x: torch.where(x > 1, a, b), (z(3, 5), z(5), r(3, 5))),
    "pad": (lambda a: F.pad(a, (1, 2)), (z(3, 5),)),
    "flip and roll": (lambda a: a.flip(0).roll(2, 1), (z(3, 5),)),
    "repeat": (lambda a: a.repeat(2, 3), (z(3, 5),)),
    "triangles": (lambda a: a.tril() + a.triu(1), (z(3, 5),)),
    "transforms": (
        lambda a: (torch.fft.fft(a, norm="forward"), torch.fft.ifft2(a, norm="ortho")), (z(6, 30),)
    ),
    "transforms of reals": (
        lambda x: (torch.fft.rfft2(x), torch.fft.fft2(x), torch.fft.ihfft2(x)), (r(5, 26) - 1,)
    ),
    "transforms to reals": (
        lambda a: (torch.fft.irfft2(a, (6, 28)), torch.fft.hfft(a, 27)), (z(6, 15),)
    ),
    "silu": (F.silu, (z(3, 5),)),
    "halves": (lambda x: torch.view_as_real(torch.complex(x, x * 2)), (r(3, 5).half(),)),
    "conjugates in memory": (torch.conj_physical, (z(5),)),
    "to complex": (lambda x: (x.to(torch.complex64), x.to(torch.complex128)), (r(3),)),
    "to others": (lambda a: a.to(torch.complex128), (z(3),)),
}  # fmt: skip


def wide(x: torch.Tensor) -> torch.Tensor:
    if x.is_complex():
        return x.to(torch.complex128)
    return x.double() if x.is_floating_point() else x


def as_pairs(x: torch.Tensor) -> np.ndarray[Any, Any]:
    plain = x.resolve_conj().resolve_neg()
    return (torch.view_as_real(plain) if plain.is_complex() else plain).numpy()


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_pytorch(name: str) -> None:
    function, inputs = CASES[name]
    graph = imported(function, *inputs)
    assert graph.coverage.left == {}
    exact, own = results(function(*map(wide, inputs))), results(function(*inputs))
    given = [as_pairs(wide(inputs[live.position])) for live in graph.inputs]
    found = evaluate(graph.graph, *given)
    for output, meant, typed in zip(graph.outputs, exact, own, strict=True):
        assert output.index is not None
        assert output.complex == typed.is_complex()
        assert graph.graph.outputs[output.index].dtype is hidet_dtype(typed.dtype)
        back = np.argsort(output.order).tolist()
        turned = np.transpose(found[output.index], [*back, len(back)][: found[output.index].ndim])
        np.testing.assert_allclose(turned, as_pairs(meant), rtol=1e-6, atol=1e-6)


def test_each_operator_has_a_case() -> None:
    seen = set()
    for function, inputs in CASES.values():
        seen.update(imported(function, *inputs).coverage.compiled)
    names = {str(each) for each in pairs}
    assert names <= seen, "nothing reaches these converters"


class Rotary(nn.Module):
    """As Meta's Llama applies it: freqs of `torch.polar` are a buffer."""

    def __init__(self, size: int, length: int) -> None:
        super().__init__()
        steps = 1.0 / 10000 ** (torch.arange(0, size, 2)[: size // 2].float() / size)
        angles = torch.outer(torch.arange(length).float(), steps)
        self.register_buffer("freqs", torch.polar(torch.ones_like(angles), angles))

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(map(self.turned, (q, k)))

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = pairs * self.freqs[None, : x.shape[1], None, :]
        return torch.view_as_real(turned).flatten(3).type_as(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rotary_embeddings_are_compiled_whole(dtype: torch.dtype, tmp_path: Path) -> None:
    net = Rotary(16, 32).eval()
    q, k = (torch.randn(2, 7, heads, 16, generator=random).to(dtype) for heads in (4, 2))
    fast = hidet_torch.compile(net, q, k, fallback="error")
    for found, meant in zip(fast(q, k), net(q, k), strict=True):
        torch.testing.assert_close(found, meant)
    fast.save(tmp_path / "rotary.hidet")
    loaded = hidet.load(tmp_path / "rotary.hidet")
    for found, meant in zip(loaded(q, k), net(q, k), strict=True):
        torch.testing.assert_close(found.torch(), meant)


@torch.no_grad()
@pytest.mark.parametrize("rows", [1, 2, 7, 129])
def test_complex_numbers_come_in_and_go_out(rows: int) -> None:
    def function(a: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return a * a.conj() + x, (a.t() * 2).abs()

    torch._dynamo.reset()
    fast = torch.compile(function, backend="hidet", options={"fallback": "error"})
    a, x = z(rows, 3), r(rows, 3)
    for given in (a, a.conj(), z(3, rows).t()):
        for found, meant in zip(fast(given, x), function(given, x), strict=True):
            torch.testing.assert_close(found, meant)
