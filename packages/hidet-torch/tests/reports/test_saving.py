"""Compiled models in files: what is loaded computes the same, and needs no PyTorch."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from transformers import BertConfig, BertModel

import hidet
import hidet_torch
from hidet.build.inputs import CopyWarning
from hidet.cli.main import main
from hidet.errors import BadArchive, BadArgument, HidetError, ShapeMismatch, UnsupportedOp
from hidet_torch.exported import CompiledModel


def images() -> tuple[nn.Module, torch.Tensor]:
    layers = [nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(8 * 36, 5)).eval(), torch.randn(2, 3, 8, 8)


def compiled(*args: Any, **given: Any) -> CompiledModel:
    return hidet_torch.compile(*args, **given)


def close(found: Any, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.torch(), expected.detach(), rtol=1e-4, atol=1e-5)


def test_a_model_is_saved_and_loaded(tmp_path: Path) -> None:
    net, x = images()
    compiled(net, x).save(tmp_path / "model.hidet")
    loaded = hidet.load(tmp_path / "model.hidet")
    close(loaded(x), net(x))
    close(loaded(x.numpy()), net(x))


RUN = """
import sys
sys.modules["torch"] = None  # importing it raises
import numpy as np
import hidet
x = np.load(sys.argv[2])
np.save(sys.argv[3], hidet.load(sys.argv[1])(x).numpy())
"""


def test_pytorch_is_not_needed_to_run_it(tmp_path: Path) -> None:
    net, x = images()
    paths = [tmp_path / name for name in ("model.hidet", "x.npy", "y.npy")]
    compiled(net, x).save(paths[0])
    np.save(paths[1], x.numpy())
    subprocess.run([sys.executable, "-c", RUN, *map(str, paths)], check=True)
    np.testing.assert_allclose(np.load(paths[2]), net(x).detach(), rtol=1e-4, atol=1e-5)
    command = [sys.executable, "-m", "hidet.cli", "run", str(paths[0]), "--input", str(paths[1])]
    output = ["--output", str(tmp_path / "results.npz")]
    text = subprocess.run([*command, *output], check=True, capture_output=True, text=True).stdout
    assert "float32[2, 5]" in text
    saved = np.load(tmp_path / "results.npz")["output0"]
    np.testing.assert_allclose(saved, net(x).detach(), rtol=1e-4, atol=1e-5)


def test_a_transformer_with_nested_results(tmp_path: Path) -> None:
    config = BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
        intermediate_size=48,
    )  # fmt: skip
    net, ids = BertModel(config).eval(), torch.randint(0, 99, (2, 9))
    compiled(net, ids).save(tmp_path / "model.hidet")
    hidden, pooled = hidet.load(tmp_path / "model.hidet")(ids)
    expected = net(ids)
    close(hidden, expected.last_hidden_state)
    close(pooled, expected.pooler_output)


def test_axes_are_those_of_the_model_however_they_lie(tmp_path: Path) -> None:
    net = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last).eval()
    x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last)
    compiled(net, x).save(tmp_path / "model.hidet")
    close(hidet.load(tmp_path / "model.hidet")(x.contiguous()), net(x).contiguous())


def test_inputs_that_lie_as_the_examples_did_are_not_copied(tmp_path: Path) -> None:
    """Images with channels last, a transposed matrix and rows; a batch of any size."""

    class Scored(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)

        def forward(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return self.conv(x).mean((2, 3)) @ w + b

    def inputs(n: int) -> tuple[torch.Tensor, ...]:
        x = torch.randn(n, 3, 6, 6).to(memory_format=torch.channels_last)
        return x, torch.randn(5, 8).t(), torch.randn(5)

    net, batch = Scored().eval(), {0: Dim("batch", max=9)}
    compiled(net, *inputs(4), dynamic_shapes=(batch, {}, {})).save(tmp_path / "model.hidet")
    loaded = hidet.load(tmp_path / "model.hidet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (2, 5, 1):
            given = inputs(n)
            close(loaded(*given), net(*given))
            close(loaded(*(each.numpy() for each in given)), net(*given))
    assert loaded.copied == 0
    x, w, b = inputs(3)
    with pytest.warns(
        CopyWarning, match=r"copies input x of strides \(108, 36, 6, 1\).*\(0, 2, 3, 1\)"
    ):
        close(loaded(x.contiguous(), w, b), net(x, w, b))
    with pytest.raises(ShapeMismatch, match=r"\[10, 3, 6, 6\].*at most 9"):
        loaded(*inputs(10))


def test_the_command_gives_inputs_as_they_are_read(tmp_path: Path, recwarn: Any) -> None:
    x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last)
    compiled(nn.Conv2d(3, 8, 3).eval(), x).save(tmp_path / "model.hidet")
    np.save(tmp_path / "x.npy", x.numpy())
    for given in ((), ("--input", str(tmp_path / "x.npy"))):
        assert main(["run", str(tmp_path / "model.hidet"), *given]) == 0
    assert not [each for each in recwarn if issubclass(each.category, CopyWarning)]


def test_sizes_may_be_symbolic(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.Softmax(-1)).eval()
    model = compiled(net, torch.randn(3, 8), dynamic_shapes=({0: Dim("rows", min=2, max=64)},))
    model.save(tmp_path / "model.hidet")
    loaded = hidet.load(tmp_path / "model.hidet")
    for rows in (2, 7, 33):
        x = torch.randn(rows, 8)
        close(loaded(x), net(x))


def test_weights_are_those_of_the_moment(tmp_path: Path) -> None:
    net, x = images()
    model = compiled(net, x)
    with torch.no_grad():
        net[0].weight.mul_(2)
        net[4].bias = nn.Parameter(torch.randn(5))
    close(model.graph()(hidet.from_torch(x)), net(x))
    model(x)
    model.save(tmp_path / "model.hidet")
    close(hidet.load(tmp_path / "model.hidet")(x), net(x))


def test_weights_that_are_inputs_are_saved_too(tmp_path: Path) -> None:
    net, x = images()
    compiled(net, x, freeze=False).save(tmp_path / "model.hidet")
    close(hidet.load(tmp_path / "model.hidet")(x), net(x))


def test_options_hold_for_what_is_saved(tmp_path: Path) -> None:
    net, x = nn.Linear(64, 64).eval(), torch.randn(4, 64)
    compiled(net, x, use_fp16=True).save(tmp_path / "model.hidet")
    found = hidet.load(tmp_path / "model.hidet")(x).torch()
    assert 1e-5 < (found - net(x)).abs().max() < 1e-2


def test_other_targets_need_no_device(tmp_path: Path) -> None:
    net, x = images()
    compiled(net, x).save(tmp_path / "model.hidet", "sm_80", "sm_90a", "cpu")
    close(hidet.load(tmp_path / "model.hidet", "cpu")(x), net(x))
    compiled(net, x).save(tmp_path / "gpu.hidet", "sm_90a")
    with pytest.raises(BadArchive, match="sm_90a"):
        hidet.load(tmp_path / "gpu.hidet", "cpu")(x)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = nn.Buffer(torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return x + self.calls


class Bessel(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(torch.relu(x))


class Viewing(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x), x.t()


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Counting(), BadArgument, "writes to its inputs or buffers"),
        (Bessel(), UnsupportedOp, "bessel_j0"),
        (Viewing(), BadArgument, "a view of an input"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_only_pytorch_can_do_is_told(
    model: nn.Module, error: type[HidetError], message: str, tmp_path: Path
) -> None:
    fast = compiled(model, torch.randn(4, 4))
    with pytest.raises(error, match=message):
        fast.save(tmp_path / "model.hidet")
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    net, x = images()
    path = tmp_path / "model.hidet"
    compiled(net, x).save(path)
    content = path.read_bytes()
    for wrong in (content[: len(content) // 2], content[:-9], b"", b"PK" + content[2:5000]):
        path.write_bytes(wrong)
        with pytest.raises(BadArchive, match=r"model\.hidet"):
            hidet.load(path)
    for place in range(100, len(content), len(content) // 7):
        altered = bytearray(content)
        altered[place] ^= 0x40
        path.write_bytes(altered)
        try:
            found = hidet.load(path)
        except BadArchive:
            continue
        close(found(x), net(x))  # a byte between members, which nothing reads


def test_the_uncompiled_graph_is_saved_too(tmp_path: Path) -> None:
    net, x = images()
    compiled(net, x).graph().save(tmp_path / "graph.safetensors")
    graph = hidet.FlowGraph.load(tmp_path / "graph.safetensors")
    close(graph(hidet.from_torch(x)), net(x))
