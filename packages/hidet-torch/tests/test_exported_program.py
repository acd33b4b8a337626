"""Programs of torch.export are compiled as they are."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import torch
from compiling import close, model
from torch import nn
from torch.export import Dim, export

import hidet
import hidet_torch
from hidet.errors import BadArgument, ShapeMismatch


class Several(nn.Module):
    """Weights, a buffer, a constant; inputs by position and by name; results by name."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)
        self.register_buffer("shift", torch.randn(4))
        self.factor = torch.randn(4)

    def forward(self, x: torch.Tensor, *, other: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"sum": self.layer(x) * self.factor + self.shift + other, "other": other * 2}


@torch.no_grad()
def test_it_needs_no_inputs_and_is_called_as_it_was_exported() -> None:
    net, x, other = Several().eval(), torch.randn(3, 8), torch.randn(4)
    fast = hidet_torch.compile(export(net, (x,), {"other": other}))
    for found in (fast(x, other=other), fast(x=x, other=other)):
        close(found, net(x, other=other))
    with pytest.raises(BadArgument, match=r"called as \(\*, \*\), compiled for \(\*, other=\*\)"):
        fast(x, other)
    with pytest.raises(BadArgument, match="other"):
        fast(x, another=other)


@torch.no_grad()
def test_inputs_are_checked_where_they_are_given() -> None:
    net, x = model(), torch.randn(3, 8)
    program = export(net, (x,))
    close(hidet_torch.compile(program, x, fallback="error")(x), net(x))
    with pytest.raises(BadArgument, match="float64"):
        hidet_torch.compile(program, x.double())
    with pytest.raises(BadArgument, match=r"give dynamic_shapes to torch\.export\.export"):
        hidet_torch.compile(program, x, dynamic_shapes=({0: Dim("batch")},))


@torch.no_grad()
def test_dynamic_sizes_are_those_of_the_export() -> None:
    net, x = model(), torch.randn(3, 8)
    program = export(net, (x,), dynamic_shapes=({0: Dim("batch", max=7)},))
    fast = hidet_torch.compile(program)
    assert str(fast.graph().inputs[0].shape) == "(batch, 8)"
    for rows in (1, 2, 7):
        y = torch.randn(rows, 8)
        close(fast(y), net(y))
    with pytest.raises(ShapeMismatch, match="batch is at most 7"):
        fast(torch.randn(8, 8))


@torch.no_grad()
def test_a_program_from_a_file_is_compiled_and_saved(tmp_path: Path) -> None:
    net, x = model(), torch.randn(3, 8)
    written = BytesIO()
    torch.export.save(export(net, (x,)), written)
    written.seek(0)
    hidet_torch.compile(torch.export.load(written)).save(tmp_path / "model.hidet")
    close(hidet.load(tmp_path / "model.hidet")(x).torch(), net(x))


@torch.no_grad()
def test_its_weights_are_read_where_they_are() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = hidet_torch.compile(export(net, (x,)))
    net[0].bias.add_(1)  # type: ignore[operator]
    close(fast(x), net(x))
    assert {id(each) for each in fast.parameters()} == {id(each) for each in net.parameters()}
    assert fast.eval() is fast
    layer: Any = fast.module.get_submodule("0")
    layer.bias = nn.Parameter(layer.bias.double())
    with pytest.raises(BadArgument, match="export the model again"):
        fast(x)


def test_buffers_are_written_to() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)  # type: ignore[operator]
            return x + self.count

    x = torch.randn(2)
    fast = hidet_torch.compile(export(Counting(), (x,)))
    close(fast(x), x + 1)
    close(fast(x), x + 2)
