"""A U-Net: what goes down comes back up beside what it was, for pictures of any size."""

from __future__ import annotations

import torch
from torch import nn

CHANNELS = (64, 128, 256, 512)


def twice(before: int, after: int) -> nn.Sequential:
    """Two convolutions with norms."""
    layers: list[nn.Module] = []
    for channels in (before, after):
        layers += [nn.Conv2d(channels, after, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Pictures (n, 3, h, w), h and w multiples of 8, to (n, 2, h, w); 7 700 226 parameters."""

    def __init__(self) -> None:
        super().__init__()
        pairs = list(zip((3, *CHANNELS), CHANNELS, strict=False))
        self.down = nn.ModuleList(twice(before, after) for before, after in pairs)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(wide, narrow, 2, 2) for narrow, wide in pairs[:0:-1]
        )
        self.beside = nn.ModuleList(twice(2 * narrow, narrow) for narrow, _ in pairs[:0:-1])
        self.last = nn.Conv2d(CHANNELS[0], 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Down, then up."""
        kept = []
        for number, stage in enumerate(self.down):
            x = stage(x if number == 0 else nn.functional.max_pool2d(x, 2))
            kept.append(x)
        for up, beside, other in zip(self.up, self.beside, kept[-2::-1], strict=True):
            x = beside(torch.cat([other, up(x)], 1))
        out: torch.Tensor = self.last(x)
        return out
