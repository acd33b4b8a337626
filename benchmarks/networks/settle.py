"""Random weights that behave: activations keep their scale to the last layer."""

from __future__ import annotations

import torch
from torch import nn


@torch.no_grad()
def settle(model: nn.Module, images: torch.Tensor) -> None:
    """Give the convolutions random weights of the right scale, the batch norms their statistics.

    Fresh batch norms pass everything on as it is, and a hundred layers later nothing is left of
    an image, or float16 has overflowed. Their statistics are those of `images`.
    """
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    for norm in norms:
        norm.momentum = None  # the statistics become those of the one batch
        norm.weight.uniform_(0.5, 1.0)
        norm.bias.normal_(0, 0.1)
    if norms:
        model.train()
        model(images)
    model.eval()
