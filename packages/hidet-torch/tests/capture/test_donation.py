"""steal_weights: memory is given back, calls go on, and whoever needs the weights is told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from hidet.errors import BadArgument
from hidet_torch import compile as compile_model
from hidet_torch import dynamo_config
from hidet_torch.backend import hidet
from hidet_torch.capture.donation import released

SIZE = 2048


def model(size: int = 32) -> nn.Module:
    return nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, size)).eval()


def held(module: nn.Module) -> int:
    """Bytes of all parameters."""
    return sum(each.untyped_storage().nbytes() for each in module.parameters())


def donating(module: nn.Module, **more: Any) -> Any:
    options = {"steal_weights": True, "use_fp16": True, **more}
    return torch.compile(module, backend=hidet, options=options)


@torch.no_grad()
def test_memory_of_weights_that_are_read_in_another_form_is_given_back() -> None:
    net, x = model(SIZE), torch.randn(2, SIZE)
    expected, before = net(x), held(net)
    fast = donating(net)
    torch.testing.assert_close(fast(x), expected, rtol=1e-2, atol=1e-2)
    assert before > 2 * 4 * SIZE * SIZE
    assert held(net) == 0
    for _ in range(2):
        torch.testing.assert_close(fast(x), expected, rtol=1e-2, atol=1e-2)


RESIDENT = """
import gc, sys
from pathlib import Path
import torch
from torch import nn
from hidet_torch.backend import hidet

def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

size = 4096
x, layers = torch.randn(2, size), [nn.Linear(size, size, bias=False) for _ in range(3)]
options = {"steal_weights": True, "use_fp16": True}
fast = [torch.compile(layer, backend=hidet, options=options) for layer in layers]
with torch.no_grad():
    fast[0](x)  # kernels are compiled and loaded
    before = resident()
    for each in fast[1:]:
        each(x)
    print(before - resident())
"""


def test_the_process_is_smaller_afterwards() -> None:
    # In a process of its own, so that nothing else comes or goes, and with every block from the
    # system and back to it: what the allocator keeps depends on what ran before.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RESIDENT],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": str(2**20)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    # Of two weights, four bytes of each value went and two came.
    assert int(done.stdout) > 3 * 4096 * 4096, done.stdout + done.stderr


@torch.no_grad()
def test_whoever_uses_such_a_weight_afterwards_is_told() -> None:
    net, x = model(), torch.randn(3, 32)
    fast = donating(net)
    fast(x)
    with pytest.raises(RuntimeError):
        net(x)
    with pytest.raises(RuntimeError):
        net[0].weight.mul_(2)
    with pytest.raises(RuntimeError):
        net.load_state_dict(model().state_dict())
    with pytest.raises(Exception, match="given away by steal_weights"):
        fast(torch.randn(5, 32, 32))
    torch.testing.assert_close(fast(x), fast(x))


@torch.no_grad()
def test_new_weights_are_compiled_anew() -> None:
    net, other, x = model(), model(), torch.randn(3, 32)
    expected = other(x)
    fast = donating(net)
    fast(x)
    net.load_state_dict(other.state_dict(), assign=True)
    torch.testing.assert_close(fast(x), expected, rtol=1e-2, atol=1e-2)


@torch.no_grad()
def test_weights_that_are_read_as_they_are_stay() -> None:
    net, x = model(), torch.randn(3, 32)
    before, expected = held(net), net(x)
    torch.testing.assert_close(donating(net, use_fp16=False)(x), expected)
    assert held(net) == before
    torch.testing.assert_close(net(x), expected)


class Tied(nn.Module):
    """The same weight in a product, where it is rounded, and as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(16, 32)

    def forward(self, at: torch.Tensor) -> torch.Tensor:
        return self.table(at) @ self.table.weight.t()


@torch.no_grad()
def test_a_weight_that_something_else_reads_stays() -> None:
    net, at = Tied().eval(), torch.tensor([1, 2, 3])
    expected = net(at)
    torch.testing.assert_close(donating(net)(at), expected, rtol=1e-2, atol=2e-2)
    torch.testing.assert_close(net(at), expected)


@torch.no_grad()
def test_changes_that_would_have_to_be_derived_again_are_refused() -> None:
    net, x = model(), torch.randn(3, 32)
    fast = compile_model(net, x, steal_weights=True, use_fp16=True)
    fast(x)
    net.load_state_dict(model().state_dict(), assign=True)
    with pytest.raises(BadArgument, match="weights changed after steal_weights"):
        fast(x)


def gone(*shape: int) -> torch.Tensor:
    """A weight whose memory was given back."""
    made = torch.randn(shape)
    released(made)
    return made


IMAGE = torch.randn(2, 3, 8, 8)
USES: dict[str, Callable[[], torch.Tensor]] = {
    "linear": lambda: functional.linear(torch.randn(2, 8), gone(8, 8)),
    "linear bias": lambda: functional.linear(torch.randn(2, 8), torch.randn(8, 8), gone(8)),
    "conv": lambda: functional.conv2d(IMAGE, gone(4, 3, 3, 3)),
    "conv bias": lambda: functional.conv2d(IMAGE, torch.randn(4, 3, 3, 3), gone(4)),
    "depthwise": lambda: functional.conv2d(IMAGE, gone(3, 1, 3, 3), groups=3),
    "transposed": lambda: functional.conv_transpose2d(IMAGE, gone(3, 4, 3, 3)),
    "mm": lambda: torch.mm(torch.randn(2, 8), gone(8, 4)),
    "addmm": lambda: torch.addmm(gone(4), torch.randn(2, 8), torch.randn(8, 4)),
    "bmm": lambda: torch.bmm(torch.randn(2, 2, 8), gone(2, 8, 4)),
    "embedding": lambda: functional.embedding(torch.tensor([1]), gone(4, 4)),
}


@pytest.mark.parametrize("use", USES)
def test_pytorch_raises_for_each_use_that_a_stolen_weight_may_have(use: str) -> None:
    with pytest.raises(RuntimeError, match=r"storage of size 0|not allocated"):
        USES[use]()


@torch.no_grad()
def test_a_report_is_made_before_weights_are_given_away(capsys: Any) -> None:
    net, x = model(), torch.randn(1, 32)
    expected = net(x)
    dynamo_config.steal_weights().correctness_report().use_fp16()
    fast = torch.compile(net, backend=hidet)
    for _ in range(2):
        torch.testing.assert_close(fast(x), expected, rtol=1e-2, atol=1e-2)
    assert capsys.readouterr().out.count("attention") == 1
    with pytest.raises(RuntimeError, match=r"storage of size 0|not allocated"):
        net(x)
