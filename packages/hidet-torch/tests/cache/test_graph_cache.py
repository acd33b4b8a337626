"""Graphs that are known again: found without AOTAutograd where nothing else can come out, and
nowhere else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from compiling import close
from torch import nn

from hidet.frontend.importing.report import FallbackWarning
from hidet_torch import dynamo_config
from hidet_torch.cache import graph_cache
from hidet_torch.capture import later
from hidet_torch.converters.table import torch as table

Spy = list[str]


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known when a test begins."""
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path))


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Spy:
    """Grows with each graph that is traced."""
    seen: Spy = []

    def spy(*given: Any, **named: Any) -> Any:
        seen.append("traced")
        return later.for_inference(*given, **named)

    monkeypatch.setattr(graph_cache, "for_inference", spy)
    return seen


def again(function: Callable[..., Any], *inputs: Any, **given: Any) -> Any:
    """The results of the function compiled as a process does that begins now, without gradients."""
    torch._dynamo.reset()
    with torch.no_grad():
        return torch.compile(function, backend="hidet", fullgraph=True, **given)(*inputs)


class Net(nn.Module):
    """Weights that are read, folded, merged and cast."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.query, self.key = nn.Linear(8, 16), nn.Linear(8, 16)
        with torch.no_grad():
            for each in (*self.parameters(), self.norm.running_mean, self.norm.running_var):
                each.uniform_(0.1, 1)
        self.eval()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.norm(self.conv(x)).relu().flatten(2).transpose(1, 2)
        scores = self.query(rows) @ self.key(rows).transpose(1, 2)
        return scores.softmax(-1), rows.sum((0, 1))


def test_a_known_graph_is_not_traced_and_reads_the_weights_there_are(traced: Spy) -> None:
    x = torch.randn(2, 3, 6, 6)
    for _ in range(3):
        net = Net()
        close(again(net, x), net(x))
    assert traced == ["traced"]


@torch.no_grad()
def test_weights_that_change_are_seen(traced: Spy) -> None:
    net, x = Net(), torch.randn(2, 3, 6, 6)
    again(net, x)
    torch._dynamo.reset()
    call = torch.compile(net, backend="hidet")
    for change in (
        lambda: net.conv.weight.mul_(2),
        lambda: net.norm.running_var.fill_(3.0),
        lambda: setattr(net.query.weight, "data", torch.randn(16, 8)),
        lambda: setattr(net, "key", nn.Linear(8, 16)),
        lambda: setattr(net.conv, "bias", nn.Parameter(torch.randn(8))),
    ):
        change()
        close(call(x), net(x))
    assert traced == ["traced"]


def test_arguments_that_lie_otherwise_are_right(traced: Spy) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    again(function, torch.randn(8, 8))
    misaligned = torch.randn(65)[1:].view(8, 8).clone()
    memory = torch.empty(65)[1:].view(8, 8).copy_(misaligned)
    torch._dynamo.reset()
    with torch.no_grad():
        call = torch.compile(function, backend="hidet")
        close(call(misaligned), misaligned * 2 + 1)
        close(call(memory), memory * 2 + 1)  # guards do not look at addresses
    assert traced == ["traced"]


def test_results_lie_as_they_did(traced: Spy) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return y.transpose(0, 1), x.permute(2, 0, 1) * 2, x.sum(), (x > 0).any(), x[:0] + 1

    x = torch.randn(3, 5, 7)
    first = again(function, x)
    second = again(function, x)
    assert traced == ["traced"]
    for a, b, expected in zip(first, second, function(x), strict=True):
        torch.testing.assert_close(b, expected)
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())


def test_tied_weights_are_told_from_equal_ones(traced: Spy) -> None:
    class Two(nn.Module):
        def __init__(self, tied: bool) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
            if tied:
                self.second.weight = self.first.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x))

    x = torch.randn(2, 8)
    for tied in (True, False, True, False):
        net = Two(tied)
        close(again(net, x), net(x))
    assert len(traced) == 2


def test_inputs_in_other_order_of_axes_are_other_graphs(traced: Spy) -> None:
    x = torch.randn(2, 3, 8, 8)
    net = nn.Conv2d(3, 4, 3)
    for given in (x, x.to(memory_format=torch.channels_last), x[:, :, ::2], x):
        close(again(net, given), net(given))
    assert len(traced) == 3


def test_who_forgot_no_grad_finds_the_graph_too(traced: Spy) -> None:
    net, x = Net(), torch.randn(2, 3, 6, 6)
    for _ in range(2):
        torch._dynamo.reset()
        found = torch.compile(net, backend="hidet")(x)
        close(found, net(x))
        assert found[0].requires_grad
    assert traced == ["traced"]
    with pytest.warns(FallbackWarning, match="gradients were taken"):
        (made,) = torch.autograd.grad(found[1].sum(), net.conv.weight)
    (expected,) = torch.autograd.grad(net(x)[1].sum(), net.conv.weight)
    close(made, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.add_(1),
        lambda x: (x[1:], x + 1),
        lambda x: (y := x + 1, y.view(-1)),
        lambda x: x + torch.rand_like(x),
        lambda x: x * torch.tensor([1.0, 2.0, 3.0]),
        lambda x: torch.special.bessel_j0(x) + 1,  # PyTorch runs it
    ],
)
@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_other_graphs_than_plain_ones_are_traced_each_time(
    function: Callable[..., Any], traced: Spy
) -> None:
    x = torch.randn(5, 3)
    for _ in range(2):
        torch.manual_seed(0)
        found = again(function, x.clone())
        torch.manual_seed(0)
        close(found, function(x.clone()))
    assert len(traced) == 2


def test_symbolic_sizes_are_traced_each_time(traced: Spy) -> None:
    for rows in (5, 6):
        x = torch.randn(rows, 7)
        close(again(lambda x: x + 1, x, dynamic=True), x + 1)
    assert len(traced) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"use_fp16": True},
        {"freeze": False},
        {"use_tensor_core": True},
        {"use_cuda_graph": False},
        {"inference": True},
        {"attention": False},
    ],
)
def test_other_options_are_other_graphs(options: dict[str, Any], traced: Spy) -> None:
    net, x = nn.Linear(8, 8).requires_grad_(False), torch.randn(2, 8)
    for given in ({}, options, {}, options):
        torch.testing.assert_close(again(net, x, options=given), net(x), rtol=1e-2, atol=1e-2)
    assert len(traced) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"steal_weights": True},
        {"correctness_report": True},
        {"print_input_graph": True},
        {"cache": False},
        {"verbose": True},
    ],
)
def test_who_wants_to_see_or_take_something_has_it_traced(
    options: dict[str, Any], traced: Spy
) -> None:
    x = torch.randn(2, 8)
    for given in ({}, options, options):
        net = nn.Linear(8, 8)
        expected = net(x)
        close(again(net, x, options=given), expected)
    assert len(traced) == 3


def test_converters_of_others_have_graphs_traced(
    traced: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.tanh() + 1

    def stranger(x: Any) -> Any:
        return x

    x = torch.randn(3)
    assert graph_cache.has_only_our_converters()
    again(function, x)
    monkeypatch.setitem(table._table, torch.ops.aten.tanh.default, {0: stranger})
    close(again(function, x), x + 1)
    assert len(traced) == 2


def test_autocast_is_traced_each_time(traced: Spy) -> None:
    net, x = nn.Linear(8, 8), torch.randn(2, 8)
    again(net, x)
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(2):
            assert again(net, x).dtype == torch.bfloat16
    assert again(net, x).dtype == torch.float32
    assert len(traced) == 3


def test_defaults_that_are_set_later_are_other_graphs(traced: Spy) -> None:
    net, x = nn.Linear(8, 8), torch.randn(2, 8)
    again(net, x)
    dynamo_config.use_fp16()
    again(net, x)
    assert len(traced) == 2


def entries(folder: Path) -> dict[Path, bytes]:
    """What was kept, notes and archives, without locks."""
    found = [each for each in folder.rglob("*") if each.is_file() and not each.suffix]
    return {each: each.read_bytes() for each in found}


def test_without_the_archive_it_is_traced_again(traced: Spy, tmp_path: Path) -> None:
    net, x = nn.Linear(8, 8), torch.randn(2, 8)
    again(net, x)
    notes = [p for p, body in entries(tmp_path).items() if b"a graph known again" in body]
    (note,) = notes
    for path in entries(tmp_path):
        if path != note:
            path.unlink()
    close(again(net, x), net(x))
    close(again(net, x), net(x))
    assert len(traced) == 2


@pytest.mark.filterwarnings("ignore:compile cache")
def test_a_damaged_note_is_made_again(traced: Spy, tmp_path: Path) -> None:
    net, x = nn.Linear(8, 8), torch.randn(2, 8)
    again(net, x)
    for path, body in entries(tmp_path).items():
        if b"a graph known again" in body:
            head, _, rest = body.partition(b"\n")
            note = json.loads(rest)
            note["frozen"] = []
            path.write_bytes(head + b"\n" + json.dumps(note).encode())
    close(again(net, x), net(x))
    assert len(traced) == 2


PROCESS = """
import sys
import torch
from torch import nn
torch.set_grad_enabled(False)
net, x = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval(), torch.randn(3, 8)
torch.testing.assert_close(torch.compile(net, backend="hidet")(x), net(x), rtol=1e-4, atol=1e-5)
late = ("hidet.ops", "hidet_torch.importing.importer", "hidet_torch.capture.decompositions")
print([each for each in late if each in sys.modules])
"""


def test_another_process_loads_nothing_that_only_tracing_needs() -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval()
    again(net, torch.randn(3, 8))
    found = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True)
    assert found.stdout == "[]\n", found.stderr
