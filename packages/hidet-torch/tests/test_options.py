"""Each option changes what it says: seen in the kernels that are made, or in what happens.

Kernels are compiled for a GPU's simulator, on the CPU, and looked at, not run.
"""

from __future__ import annotations

import json
import re
import time
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import hidet_torch
from hidet import tuning
from hidet_torch import dynamo_config
from hidet_torch.backend import hidet
from hidet_torch.settings import MODES


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path / "cache"))


def linear(
    dtype: torch.dtype = torch.float16, features: int = 256
) -> tuple[nn.Module, torch.Tensor]:
    return nn.Linear(features, 64).eval().to(dtype), torch.randn(16, features).to(dtype)


def kernels(net: nn.Module, *inputs: torch.Tensor, folder: Path, **options: Any) -> str:
    """The scheduled kernels of a model, as text."""
    hidet_torch.compile(net, *inputs, target="sim", dump=str(folder), cache=False, **options)
    return "\n".join(path.read_text() for path in sorted(folder.rglob("00-scheduled.txt")))


def on_tensor_cores(text: str) -> bool:
    """Whether kernels multiply on tensor cores."""
    return re.search(r"mma_sync\(|wgmma\(", text) is not None


def test_tensor_cores_may_be_left_alone(tmp_path: Path) -> None:
    assert on_tensor_cores(kernels(*linear(), folder=tmp_path / "usual"))
    found = kernels(*linear(), folder=tmp_path / "none", use_tensor_core=False)
    assert not on_tensor_cores(found)


def test_tensor_cores_multiply_float32_where_that_is_allowed(tmp_path: Path) -> None:
    net, x = nn.Linear(512, 512).eval(), torch.randn(512, 512)
    usual = kernels(net, x, folder=tmp_path / "usual")
    assert not on_tensor_cores(usual) or "small" in usual  # all of float32, in two parts
    found = kernels(net, x, folder=tmp_path / "tf32", use_tensor_core=True)
    assert on_tensor_cores(found)
    assert "tf32" in found
    assert "small" not in found


def test_float32_models_are_computed_in_float16(tmp_path: Path) -> None:
    found = kernels(*linear(torch.float32), folder=tmp_path, use_fp16=True)
    assert on_tensor_cores(found)
    assert "b: f16[64, 256]" in found


def test_products_are_summed_in_float16(tmp_path: Path) -> None:
    sums = "accumulators: f32["
    assert sums in kernels(*linear(), folder=tmp_path / "usual")
    found = kernels(*linear(), folder=tmp_path / "half", use_fp16_reduction=True)
    assert sums not in found
    assert "accumulators: f16[" in found


@pytest.mark.parametrize(("share", "blocks"), [("disabled", 1), (2, 2), (4, 4)])
def test_as_many_blocks_share_a_sum_as_are_asked_for(
    share: Any, blocks: int, tmp_path: Path
) -> None:
    found = kernels(*linear(features=1024), folder=tmp_path, parallel_k=share)
    cluster = re.search(r"cluster \((\d+), (\d+), (\d+)\)", found)
    assert (prod(map(int, cluster.groups())) if cluster else 1) == blocks


class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.transpose(-1, -2) * 0.25, -1) @ v


def test_attention_is_found_or_left_as_it_is_spelled(tmp_path: Path) -> None:
    given = torch.randn(3, 1, 2, 32, 16)
    found: dict[bool, str] = {}
    for flag in (True, False):
        folder = tmp_path / str(flag)
        kernels(Attention(), *given, folder=folder, use_attention=flag)
        (stage,) = (folder / "graph").glob("*-find_attention.txt")
        found[flag] = stage.read_text()
    assert "Attention(" in found[True]
    assert "Attention(" not in found[False]


def trials(result: dict[str, Any]) -> list[Any]:
    """What was measured for one operator, on all devices."""
    return [trial for record in result["devices"].values() for trial in record["trials"]]


@torch.no_grad()
@pytest.mark.parametrize("level", [0, 1])
def test_schedules_are_measured_if_asked_for(level: int, tmp_path: Path) -> None:
    net, x = linear(torch.float32)
    dynamo_config.search_space(level)
    torch.compile(net, backend=hidet)(x)
    file = tmp_path / "results.json"
    assert tuning.export(file) == level  # one operator, if any
    results = json.loads(file.read_text())["results"]
    measured = [t for each in results if "group" in each["facts"] for t in trials(each)]
    assert level == 0 or 1 < len(measured) <= 8


class Clock:
    """Time that goes on by more than half a second whenever someone looks at it."""

    def __init__(self) -> None:
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return time.monotonic() + 0.6 * self.looks


@torch.no_grad()
def test_a_deadline_ends_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hidet.build.measured.tuner.time", Clock())
    net, x = linear(torch.float32)
    net = nn.Sequential(net, nn.ReLU(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 7)).eval()
    limits = {"search_space": 2, "tune_seconds": 1}
    with pytest.warns(tuning.TuningWarning, match="the time was up") as said:
        torch.compile(net, backend=hidet, options=limits)(x)
    found = {each.filename for each in said if each.category is tuning.TuningWarning}
    assert found == {__file__}, "not a line of PyTorch or of this compiler"


@torch.no_grad()
def test_graphs_are_printed_only_if_asked_for(capsys: Any) -> None:
    for flag in (False, True):
        torch._dynamo.reset()
        dynamo_config.print_input_graph(flag)
        torch.compile(nn.ReLU(), backend=hidet)(torch.randn(3))
        assert ("relu" in capsys.readouterr().out) is flag


@torch.no_grad()
def test_reset_forgets_everything(tmp_path: Path, capsys: Any) -> None:
    dynamo_config.use_fp16().print_input_graph().search_space(1).dump_graph_ir(str(tmp_path / "d"))
    dynamo_config.correctness_report().steal_weights().reset()
    net, x = linear(torch.float32)
    found = torch.compile(net, backend=hidet)(x)
    assert (found - net(x)).abs().max() < 1e-5
    assert not capsys.readouterr().out
    assert not (tmp_path / "d").exists()


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::hidet.tuning.TuningWarning")
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_compiles(mode: str) -> None:
    net, x = linear(torch.float32)
    dynamo_config.tune_seconds(1)
    fast = torch.compile(net, backend=hidet, mode=mode)
    torch.testing.assert_close(fast(x), net(x), rtol=1e-4, atol=1e-5)
