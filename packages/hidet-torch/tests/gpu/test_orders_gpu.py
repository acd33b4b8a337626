"""Files on a GPU whose inputs lie in other orders of axes than rows; what models assert there."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

import hidet
import hidet_torch
from hidet.build.inputs import CopyWarning

pytestmark = pytest.mark.gpu


def saved(folder: Path) -> tuple[nn.Module, torch.Tensor, hidet.CompiledGraph]:
    """A convolution out of a file, saved for an image that lies with channels last."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU()).cuda().half().eval()
    image = torch.randn(2, 8, 9, 9).cuda().half().to(memory_format=torch.channels_last)
    hidet_torch.compile(net, image).save(folder / "model.hidet")
    return net, image, hidet.load(folder / "model.hidet", "cuda:0")


@torch.no_grad()
def test_an_image_in_its_order_is_not_copied(tmp_path: Path) -> None:
    net, image, loaded = saved(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopyWarning)
        for given in (image, image * 2, image):
            found = loaded(given).torch()
            torch.testing.assert_close(found, net(given).contiguous(), rtol=1e-2, atol=1e-2)
    assert loaded.copied == 0


@torch.no_grad()
def test_others_are_copied_on_the_gpu(tmp_path: Path) -> None:
    """By PyTorch, and by a kernel where a tensor is ours."""
    net, image, loaded = saved(tmp_path)
    rows = image.contiguous()
    with pytest.warns(CopyWarning, match=r"in rows of its axes \(0, 2, 3, 1\)") as said:
        found = [loaded(given).torch() for given in (rows, hidet.from_torch(rows), image)]
    for each in found:
        torch.testing.assert_close(each, net(image).contiguous(), rtol=1e-2, atol=1e-2)
    assert (loaded.copied, len(said)) == (2, 1)


FALSE = """
import torch, hidet_torch
def doubled(x):
    torch.ops.aten._assert_async.msg((x < 5).all(), "too large")
    return x * 2
fast = torch.compile(doubled, backend="hidet")
good = fast(torch.tensor([0, 4], device="cuda"))
assert good.tolist() == [0, 8]
try:
    fast(torch.tensor([0, 5], device="cuda"))
    torch.cuda.synchronize()
except RuntimeError as error:  # the device is of no use any more
    print("raised", flush=True)
"""


def test_what_a_model_asserts_is_checked() -> None:
    done = subprocess.run([sys.executable, "-c", FALSE], capture_output=True, text=True)
    assert "raised" in done.stdout, done.stderr[-2000:]
