from __future__ import annotations

import pytest
import torch
from compiling import model
from torch import nn

import hidet_torch
from hidet.errors import BadArgument


def test_weights_are_those_of_the_module() -> None:
    net = model()
    fast = hidet_torch.compile(net, torch.randn(3, 8))
    assert all(a is b for a, b in zip(fast.parameters(), net.parameters(), strict=True))
    assert fast.state_dict().keys() == net.state_dict().keys()


def test_the_mode_is_that_of_compiling() -> None:
    x = torch.randn(3, 8)
    fast = hidet_torch.compile(model(), x)
    assert fast.eval() is fast
    assert fast.train(False) is fast
    with pytest.raises(BadArgument, match=r"in eval mode .*\n.*call train\(\) of the model"):
        fast.train()
    learning = hidet_torch.compile(nn.Linear(8, 4), x)
    assert learning.train() is learning
    with pytest.raises(BadArgument, match=r"in training mode .*\n.*call eval\(\) of the model"):
        learning.eval()


def test_a_compiled_model_is_not_moved() -> None:
    with pytest.raises(BadArgument, match="stays on its device"):
        hidet_torch.compile(model(), torch.randn(3, 8)).to(torch.float16)
