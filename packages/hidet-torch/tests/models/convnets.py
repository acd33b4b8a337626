"""Convolutional networks written plainly: ResNet-50, MobileNet-V2, Inception-V3."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


def conv_norm(i: int, o: int, kernel: int | tuple[int, int], **given: object) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(i, o, kernel, bias=False, **given), nn.BatchNorm2d(o, 1e-3))


class Bottleneck(nn.Module):
    def __init__(self, i: int, width: int, stride: int) -> None:
        super().__init__()
        o = width * 4
        self.reduce = conv_norm(i, width, 1)
        self.middle = conv_norm(width, width, 3, stride=stride, padding=1)
        self.widen = conv_norm(width, o, 1)
        self.side = None if i == o and stride == 1 else conv_norm(i, o, 1, stride=stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.widen(self.middle(self.reduce(x).relu()).relu())
        return (y + (x if self.side is None else self.side(x))).relu()


def resnet50(blocks: tuple[int, ...] = (3, 4, 6, 3), width: int = 64) -> nn.Module:
    layers: list[nn.Module] = [conv_norm(3, width, 7, stride=2, padding=3), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    i = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            own = width << stage
            layers.append(Bottleneck(i, own, 2 if stage and not block else 1))
            i = own * 4
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, 1000))


class Inverted(nn.Module):
    def __init__(self, i: int, o: int, stride: int, factor: int) -> None:
        super().__init__()
        wide = i * factor
        self.body = nn.Sequential(
            *([conv_norm(i, wide, 1), nn.ReLU6()] if factor > 1 else []),
            conv_norm(wide, wide, 3, stride=stride, padding=1, groups=wide), nn.ReLU6(),
            conv_norm(wide, o, 1),
        )  # fmt: skip
        self.adds = i == o and stride == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet_v2(short: bool = False) -> nn.Module:
    plan = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
    ]
    plan = plan[:2] if short else [*plan, (6, 320, 1, 1)]
    layers: list[nn.Module] = [conv_norm(3, 32, 3, stride=2, padding=1), nn.ReLU6()]
    i = 32
    for factor, o, count, stride in plan:
        for block in range(count):
            layers.append(Inverted(i, o, 1 if block else stride, factor))
            i = o
    layers += [conv_norm(i, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Dropout(0.2), nn.Linear(1280, 1000))


def unit(i: int, o: int, kernel: int | tuple[int, int], **given: object) -> nn.Sequential:
    return nn.Sequential(*conv_norm(i, o, kernel, **given), nn.ReLU())


class Branches(nn.Module):
    """Branches side by side, joined along the channels; None is a pooling."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Pooled(nn.Module):
    def __init__(self, i: int, o: int) -> None:
        super().__init__()
        self.unit = unit(i, o, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.unit(F.avg_pool2d(x, 3, 1, 1))


def block_a(i: int, pool: int) -> Branches:
    return Branches(
        unit(i, 64, 1),
        nn.Sequential(unit(i, 48, 1), unit(48, 64, 5, padding=2)),
        nn.Sequential(unit(i, 64, 1), unit(64, 96, 3, padding=1), unit(96, 96, 3, padding=1)),
        Pooled(i, pool),
    )


def block_c(i: int, c: int) -> Branches:
    row, column = {"padding": (0, 3)}, {"padding": (3, 0)}
    return Branches(
        unit(i, 192, 1),
        nn.Sequential(unit(i, c, 1), unit(c, c, (1, 7), **row), unit(c, 192, (7, 1), **column)),
        nn.Sequential(
            unit(i, c, 1), unit(c, c, (7, 1), **column), unit(c, c, (1, 7), **row),
            unit(c, c, (7, 1), **column), unit(c, 192, (1, 7), **row),
        ),
        Pooled(i, 192),
    )  # fmt: skip


def split_unit(i: int) -> Branches:
    return Branches(unit(i, 384, (1, 3), padding=(0, 1)), unit(i, 384, (3, 1), padding=(1, 0)))


def block_e(i: int) -> Branches:
    return Branches(
        unit(i, 320, 1),
        nn.Sequential(unit(i, 384, 1), split_unit(384)),
        nn.Sequential(unit(i, 448, 1), unit(448, 384, 3, padding=1), split_unit(384)),
        Pooled(i, 192),
    )


def inception_v3(short: bool = False) -> nn.Module:
    stem = [
        unit(3, 32, 3, stride=2), unit(32, 32, 3), unit(32, 64, 3, padding=1), nn.MaxPool2d(3, 2),
        unit(64, 80, 1), unit(80, 192, 3), nn.MaxPool2d(3, 2),
    ]  # fmt: skip
    to_768 = Branches(
        unit(288, 384, 3, stride=2),
        nn.Sequential(unit(288, 64, 1), unit(64, 96, 3, padding=1), unit(96, 96, 3, stride=2)),
        nn.MaxPool2d(3, 2),
    )
    to_1280 = Branches(
        nn.Sequential(unit(768, 192, 1), unit(192, 320, 3, stride=2)),
        nn.Sequential(
            unit(768, 192, 1), unit(192, 192, (1, 7), padding=(0, 3)),
            unit(192, 192, (7, 1), padding=(3, 0)), unit(192, 192, 3, stride=2),
        ),
        nn.MaxPool2d(3, 2),
    )  # fmt: skip
    first = [block_a(192, 32), block_a(256, 64), block_a(288, 64)]
    middle = [to_768, *(block_c(768, c) for c in (128, 160, 160, 192))]
    last = [to_1280, block_e(1280), block_e(2048)]
    body, width = ([*first], 288) if short else ([*first, *middle, *last], 2048)
    head = [nn.AdaptiveAvgPool2d(1), nn.Dropout(), nn.Flatten(), nn.Linear(width, 1000)]
    return nn.Sequential(*stem, *body, *head)
