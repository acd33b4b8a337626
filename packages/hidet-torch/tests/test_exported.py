from __future__ import annotations

import pytest
import torch
from torch import nn

import hidet_torch
from hidet.errors import BadArgument, UnsupportedOp
from hidet.frontend.report import FallbackWarning


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).eval()


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_a_compiled_model_is_called_like_the_model() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = hidet_torch.compile(net, x)
    close(fast(x), net(x))
    with torch.no_grad():
        net[0].weight.mul_(2)
    close(fast(x), net(x))
    assert not fast(x).requires_grad


def test_a_transformer_layer() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True).eval()
    x = torch.randn(2, 5, 16)
    close(hidet_torch.compile(layer, x)(x), layer(x).detach())


def test_other_inputs_than_compiled_for_are_refused() -> None:
    fast = hidet_torch.compile(model(), torch.randn(3, 8))
    with pytest.raises(BadArgument, match=r"torch.float64 on cpu, compiled for torch.float32"):
        fast(torch.randn(3, 8, dtype=torch.float64))
    with pytest.raises(BadArgument, match="the graph takes"):
        fast(torch.randn(4, 8))
    with pytest.raises(BadArgument, match="compiled for"):
        fast(torch.randn(3, 8), 1)


def test_sizes_may_be_dynamic() -> None:
    net = model()
    fast = hidet_torch.compile(
        net, torch.randn(3, 8), dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=64)},)
    )
    for rows in (2, 5, 17):
        x = torch.randn(rows, 8)
        close(fast(x), net(x))


class Structured(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: dict[str, torch.Tensor]) -> dict[str, object]:
        self.calls += 1
        return {"sum": x["a"] + x["b"], "calls": (self.calls * 1, None)}


def test_structures_and_buffers_that_are_written_to() -> None:
    net = Structured()
    given = {"a": torch.randn(3), "b": torch.randn(3)}
    fast = hidet_torch.compile(net, given)
    for count in (1.0, 2.0):
        found = fast(given)
        close(found["sum"], given["a"] + given["b"])
        assert found["calls"][0].item() == count
        assert found["calls"][1] is None
    assert net.calls.item() == 2


def test_refresh_sees_what_pytorch_does_not_count() -> None:
    class Derived(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * (self.weight.exp() + 1)

    net, x = Derived(), torch.randn(4)
    fast = hidet_torch.compile(net, x)
    net.weight.data.fill_(2)
    hidet_torch.refresh(net)
    close(fast(x), net(x).detach())


def test_options_are_those_of_the_backend() -> None:
    class Sorting(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sort(x)[0] + 1

    x = torch.randn(5)
    with pytest.warns(FallbackWarning, match=r"aten\.sort"):
        close(hidet_torch.compile(Sorting(), x)(x), torch.sort(x)[0] + 1)
    with pytest.raises(UnsupportedOp, match=r"aten\.sort"):
        hidet_torch.compile(Sorting(), x, fallback="error")
