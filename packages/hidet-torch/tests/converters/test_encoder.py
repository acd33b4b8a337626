"""Layers of torch.nn that PyTorch calls as one operator in evaluation."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hidet_torch.backend import hidet


def padding() -> torch.Tensor:
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True
    return mask


@torch.no_grad()
@pytest.mark.parametrize("given", ["nothing", "causal", "padding"])
@pytest.mark.parametrize(("norm_first", "activation"), [(False, "relu"), (True, "gelu")])
def test_encoder_layers(given: str, norm_first: bool, activation: str) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        16, 4, 32, batch_first=True, norm_first=norm_first, activation=activation
    ).eval()
    x = torch.randn(2, 5, 16)
    causal = torch.ones(5, 5).triu(1).bool()
    masks = {
        "nothing": {},
        "causal": {"src_mask": causal},
        "padding": {"src_key_padding_mask": padding()},
    }
    fast = torch.compile(layer, backend=hidet, fullgraph=True, options={"fallback": "error"})
    found, expected = fast(x, **masks[given]), layer(x, **masks[given])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("same", [True, False])
def test_multi_head_attention(same: bool) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    y = x if same else torch.randn(2, 5, 16)
    function = lambda a, c: layer(a, c, c, need_weights=False)[0]
    fast = torch.compile(function, backend=hidet, fullgraph=True, options={"fallback": "error"})
    torch.testing.assert_close(fast(x, y), function(x, y), rtol=1e-4, atol=1e-5)
