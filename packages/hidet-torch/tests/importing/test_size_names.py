"""Sizes are called by their Dims wherever a user sees them, else after an input and its axis."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from compiling import close
from torch import nn
from torch.export import Dim

import hidet
import hidet_torch
from hidet.errors import BadArgument, ShapeMismatch
from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.exported import CompiledModel


class Rows(nn.Module):
    """Rows of x twice as many as those of y may be, but need not be."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x).sum(0) + torch.relu(y), x[:, :1] * 2


class Sum(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + y


def x(rows: int, columns: int = 8) -> torch.Tensor:
    return torch.randn(rows, columns)


def compiled(
    model: nn.Module, inputs: tuple[Any, ...], *shapes: Any, **given: Any
) -> CompiledModel:
    return hidet_torch.compile(model, *inputs, dynamic_shapes=shapes, **given)


def sizes(fast: CompiledModel) -> list[str]:
    """The first size of each input."""
    return [str(tensor.shape[0]) for tensor in fast.graph().inputs]


def test_a_size_is_called_by_its_dim() -> None:
    batch = Dim("batch", max=64)
    fast = compiled(Sum(), (x(3), x(3)), {0: batch}, {0: batch})
    assert sizes(fast) == ["batch", "batch"]
    assert "x: float32[batch, 8]" in str(fast.graph())


def test_a_derived_size_is_told_by_its_root() -> None:
    batch = Dim("batch")
    fast = compiled(Rows(), (x(3), x(6)), {0: batch}, {0: 2 * batch})
    assert sizes(fast) == ["batch", "(batch * 2)"]
    for found, expected in zip(fast(a := x(5), b := x(10)), Rows()(a, b), strict=True):
        close(found, expected)


def test_a_root_that_no_input_has_is_named_too() -> None:
    half = Dim("half", min=1, max=8)
    with pytest.warns(FallbackWarning, match="the size half, which no input tells"):
        fast = compiled(nn.ReLU(), (x(4),), {0: 2 * half})
    with pytest.raises(ShapeMismatch, match=r"float32\[2\*half, 8\], where 2\*half is at most 16"):
        fast(x(18))


def test_sizes_without_a_dim_are_called_after_an_input() -> None:
    automatic = compiled(Rows(), (x(3), x(6)), {0: Dim.DYNAMIC}, {0: Dim("rows")})
    assert sizes(automatic) == ["x.0", "rows"]
    equal = compiled(Sum(), (x(3), x(3)), {0: Dim.AUTO}, {0: Dim.AUTO})
    assert sizes(equal) == ["x.0", "x.0"]


@pytest.mark.parametrize("first", [True, False])
def test_one_dim_names_all_sizes_that_iteration_out_to_be_equal(first: bool) -> None:
    given = [{0: Dim("rows", max=64)}, {0: Dim.DYNAMIC}]
    fast = compiled(Sum(), (x(3), x(3)), *(given if first else given[::-1]))
    assert sizes(fast) == ["rows", "rows"]


class Nested(nn.Module):
    def forward(self, x: dict[str, Any], k: int) -> torch.Tensor:
        return x["a"] + x["b"][0] * k


def test_numbers_and_inputs_in_structures() -> None:
    k, given = Dim("k"), {"a": x(3), "b": [x(3)]}
    shapes = {"x": {"a": {0: k}, "b": [{0: k}]}, "k": Dim.DYNAMIC}
    fast = hidet_torch.compile(Nested(), given, 5, dynamic_shapes=shapes)
    assert list(fast.run.imported.symbols) == ["k", "k_1"]  # the Dim's, and the number's
    given = {"a": x(7), "b": [x(7)]}
    close(fast(given, 4), Nested()(given, 4))
    with pytest.raises(ShapeMismatch, match=r"input x_b_0 is .*\[k, 8\], where k is 7, as in x_a"):
        fast({"a": x(7), "b": [x(6)]}, 4)


@pytest.mark.parametrize("name", ["float", "x", "NULL", "größe", "s77"])
def test_names_that_mean_something_to_compilers(name: str) -> None:
    fast = compiled(nn.Softmax(-1), (x(3),), {0: Dim(name)})
    assert sizes(fast) == [name]
    close(fast(a := x(5)), a.softmax(-1))


class Foreign(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(torch.relu(x)).view(-1) + x.shape[0]


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_parts_that_pytorch_runs_read_named_sizes() -> None:
    for given in (Dim("rows"), Dim.DYNAMIC):
        fast = compiled(Foreign(), (x(3),), {0: given})
        close(fast(a := x(5)), Foreign()(a))


def test_sizes_out_of_a_dims_range_are_refused() -> None:
    net, rows = nn.Sequential(nn.Linear(8, 4)).eval(), Dim("rows", min=4, max=64)
    fast = compiled(net, (x(5),), {0: rows})
    close(fast(a := x(64)), net(a))
    for count, limit in ((3, "at least 4"), (65, "at most 64")):
        with pytest.raises(
            ShapeMismatch,
            match=rf"input is float32\[{count}, 8\]; the graph takes float32\[rows, 8\], "
            rf"where rows is .*{limit}",
        ):
            fast(x(count))


def test_sizes_that_disagree_are_refused() -> None:
    batch = Dim("batch", max=64)
    fast = compiled(Rows(), (x(3), x(6)), {0: batch}, {0: 2 * batch}, freeze=False)
    with pytest.raises(
        ShapeMismatch,
        match=r"input y is float32\[7, 8\]; the graph takes float32\[2\*batch, 8\], "
        r"where batch is 4, as in x",
    ):
        fast(x(4), x(7))
    with pytest.raises(ShapeMismatch, match=r"input x is float32\[4, 9\].*float32\[batch, 8\]"):
        fast(x(4, 9), x(8))
    with pytest.raises(ShapeMismatch, match=r"input y is float32\[8\].*float32\[2\*batch, 8\]"):
        fast(x(4), x(8)[:, 0])
    with pytest.raises(BadArgument, match=r"input y is torch\.float64 on cpu"):
        fast(x(4), x(8).double())


def test_fixed_sizes_are_told_by_the_inputs_name() -> None:
    with pytest.raises(ShapeMismatch, match=r"input y is float32\[2, 8\]; the graph takes"):
        hidet_torch.compile(Sum(), x(3), x(3))(x(3), x(2))


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hidet.cli", "run", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_file_has_the_names(tmp_path: Path) -> None:
    path, batch = str(tmp_path / "model.hidet"), Dim("batch", max=64)
    compiled(Rows(), (x(3), x(6)), {0: batch}, {0: 2 * batch}).save(path)
    loaded = hidet.load(path)
    assert "x: float32[batch, 8], y: float32[(batch * 2), 8] -> " in repr(loaded)
    with pytest.raises(ShapeMismatch, match=r"input y is .* takes float32\[\(batch \* 2\), 8\]"):
        loaded(x(4), x(7))
    for found, expected in zip(loaded(y=(b := x(8)), x=(a := x(4))), Rows()(a, b), strict=True):
        close(found.torch(), expected)
    assert "float32[5, 1]" in run(path, "--size", "batch=5").stdout
    assert "pass --size batch=8" in run(path).stderr
    assert "it has batch" in run(path, "--size", "s77=5").stderr


def refusal(call: Callable[..., Any], *given: torch.Tensor) -> str:
    with pytest.raises(ShapeMismatch) as refused:
        call(*given)
    return str(refused.value)


@pytest.mark.parametrize("limits", [{"min": 4, "max": 64}, {"max": 64}, {"min": 4}])
def test_a_file_refuses_what_the_model_refuses(tmp_path: Path, limits: dict[str, int]) -> None:
    net, path = nn.Sequential(nn.Linear(8, 4)).eval(), tmp_path / "model.hidet"
    fast = compiled(net, (x(5),), {0: Dim("rows", **limits)})
    fast.save(path)
    fast.graph().save(tmp_path / "graph.safetensors")
    as_graph = hidet.FlowGraph.load(tmp_path / "graph.safetensors").build()
    for loaded in (hidet.load(path), as_graph):
        close(loaded(input=(a := x(64))).torch(), net(a))
        for wrong in [x(3)] * ("min" in limits) + [x(65)] * ("max" in limits) + [x(5, 9)]:
            assert refusal(loaded, wrong) == refusal(fast, wrong)


def test_a_file_has_names_after_inputs_too(tmp_path: Path) -> None:
    path = str(tmp_path / "model.hidet")
    compiled(nn.ReLU(), (x(3),), {0: Dim.DYNAMIC}).save(path)
    assert "float32[5, 8]" in run(path, "--size", "input.0=5").stdout
