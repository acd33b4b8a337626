"""Inputs that lie otherwise than the examples did."""

from __future__ import annotations

import warnings

import pytest
import torch
from compiling import close
from torch import nn

import hidet_torch
from hidet.build.inputs import CopyWarning


def test_inputs_that_lie_otherwise_than_the_examples_are_copied_which_is_said_once() -> None:
    net, x = nn.Conv2d(3, 4, 3).eval(), torch.randn(2, 3, 6, 6)
    last = x.to(memory_format=torch.channels_last)
    with torch.no_grad():
        fast = hidet_torch.compile(net, last)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            close(fast(last), net(last))
        with pytest.warns(CopyWarning, match=r"input.*\(108, 36, 6, 1\).*x\.permute\(0, 2, 3, 1\)"):
            close(fast(x), net(x))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            close(fast(x), net(x))
            close(fast(last * 2), net(last * 2))
