"""How arguments reach kernels."""

from __future__ import annotations

import pytest
import torch
from compiling import close
from torch import nn

import hidet_torch
from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.backend import hidet
from hidet_torch.calling.run import filled
from hidet_torch.memory.dtypes import PARTS, TO_HIDET


@pytest.mark.parametrize("dtype", [*TO_HIDET, *PARTS], ids=str)
def test_numbers_are_the_same_on_a_device(dtype: torch.dtype) -> None:
    number = torch.tensor(1.625).to(dtype)
    found = filled(number, "cpu")
    assert (found.dtype, found.shape) == (dtype, ())
    assert found.item() == number.item()


def test_large_numbers_are_the_same_on_a_device() -> None:
    for number in (torch.tensor(2**62 + 1), torch.tensor(0.1, dtype=torch.float64)):
        assert filled(number, "cpu").item() == number.item()


@torch.no_grad()
def test_a_graph_over_several_devices_runs_in_pytorch_and_says_so() -> None:
    torch._dynamo.reset()

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.relu() + 1, y * 2

    # Tensors of the meta device stand for those of a second one; they have no values.
    x, y = torch.randn(3), torch.empty(3, device="meta")
    fast = torch.compile(function, backend=hidet)
    with pytest.warns(FallbackWarning, match="a tensor on cpu in a graph on meta:0"):
        found = fast(x, y)
    torch.testing.assert_close(found[0], x.relu() + 1)
    assert found[1].device.type == "meta"


class Factored(nn.Module):
    """What PyTorch checks the success of: an operator with an effect."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.cholesky(torch.relu(x)) * 2 + torch.linalg.cholesky(x @ x.mT)


@pytest.mark.filterwarnings("error::hidet.frontend.importing.report.FallbackWarning")
@pytest.mark.parametrize("exported", [False, True])
def test_an_error_in_the_middle_of_a_call_is_raised_and_the_next_call_is_right(
    exported: bool,
) -> None:
    net, x = Factored(), 2 * torch.eye(4)
    torch._dynamo.reset()
    compiled = hidet_torch.compile(net, x) if exported else torch.compile(net, backend="hidet")
    with torch.no_grad():
        close(compiled(x), net(x))
        with pytest.raises(torch.linalg.LinAlgError, match="could not be completed"):
            compiled(0 * x)
        close(compiled(x), net(x))
