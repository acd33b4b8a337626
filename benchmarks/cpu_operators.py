"""Single operators on a CPU beside PyTorch, its compiler and ONNX Runtime.

    python -m benchmarks.cpu_operators                      # all, on one thread
    python -m benchmarks.cpu_operators "conv 1-d" softmax   # those whose names contain these

Shapes are those that networks have, odd ones, long rows, and tiny ones where what a call costs
decides. How they are timed, `benchmarks.cpu` says.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.cpu import BESIDE, SYSTEMS, CpuRow, compared
from benchmarks.exports import Subject
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.table import number, table

Shape = tuple[int, ...]
Made = Callable[[], nn.Module]


class Applied(nn.Module):
    """A function as a module, which exporters take."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def applied(function: Callable[..., torch.Tensor], **how: object) -> Made:
    """A function with keyword arguments as what makes a module."""
    return lambda: Applied(partial(function, **how))


CONVOLUTIONS: Mapping[str, tuple[Made, tuple[Shape, ...]]] = {
    "conv 1x1 16>32 @67x93 batch 7": (partial(nn.Conv2d, 16, 32, 1), ((7, 16, 67, 93),)),
    "conv 1x1 64>64 @56": (partial(nn.Conv2d, 64, 64, 1), ((1, 64, 56, 56),)),
    "conv 1x1 960>160 @7": (partial(nn.Conv2d, 960, 160, 1), ((1, 960, 7, 7),)),
    "conv 1x1 /2 256>512 @56": (partial(nn.Conv2d, 256, 512, 1, 2), ((1, 256, 56, 56),)),
    "conv 3x3 64>64 @56": (partial(nn.Conv2d, 64, 64, 3, 1, 1), ((1, 64, 56, 56),)),
    "conv 3x3 256>256 @14": (partial(nn.Conv2d, 256, 256, 3, 1, 1), ((1, 256, 14, 14),)),
    "conv 3x3 512>512 @7": (partial(nn.Conv2d, 512, 512, 3, 1, 1), ((1, 512, 7, 7),)),
    "conv 3x3 /2 128>128 @56": (partial(nn.Conv2d, 128, 128, 3, 2, 1), ((1, 128, 56, 56),)),
    "conv 3x3 7>13 @31x17": (partial(nn.Conv2d, 7, 13, 3, 1, 1), ((3, 7, 31, 17),)),
    "conv 7x7 /2 3>64 @224": (partial(nn.Conv2d, 3, 64, 7, 2, 3), ((1, 3, 224, 224),)),
    "conv 3x3 /2 3>32 @225": (partial(nn.Conv2d, 3, 32, 3, 2), ((1, 3, 225, 225),)),
    "conv 16x16 /16 3>768 @224": (partial(nn.Conv2d, 3, 768, 16, 16), ((1, 3, 224, 224),)),
    "conv dilated 3x3 32>32 @65": (
        partial(nn.Conv2d, 32, 32, 3, 1, 2, dilation=2), ((1, 32, 65, 65),)
    ),
    "conv groups 32, 128>128 @28": (
        partial(nn.Conv2d, 128, 128, 3, 1, 1, groups=32), ((1, 128, 28, 28),)
    ),
    "conv groups 2, 64>64 @29": (
        partial(nn.Conv2d, 64, 64, 3, 1, 1, groups=2), ((1, 64, 29, 29),)
    ),
    "conv depthwise 3x3 144 @56": (
        partial(nn.Conv2d, 144, 144, 3, 1, 1, groups=144), ((1, 144, 56, 56),)
    ),
    "conv depthwise 3x3 /2 96 @113": (
        partial(nn.Conv2d, 96, 96, 3, 2, groups=96), ((1, 96, 113, 113),)
    ),
    "conv depthwise 7x7 96 @56": (
        partial(nn.Conv2d, 96, 96, 7, 1, 3, groups=96), ((1, 96, 56, 56),)
    ),
    "conv 1-d 5 16>32 @1009": (partial(nn.Conv1d, 16, 32, 5), ((7, 16, 1009),)),
    "conv 1-d 3 80>384 @3000": (partial(nn.Conv1d, 80, 384, 3, 1, 1), ((1, 80, 3000),)),
    "conv 1-d depthwise 4 256 @512": (
        partial(nn.Conv1d, 256, 256, 4, 1, 3, groups=256), ((1, 256, 512),)
    ),
    "conv 3-d 3x3x3 8>16 @17": (partial(nn.Conv3d, 8, 16, 3, 1, 1), ((1, 8, 17, 19, 23),)),
    "conv 3-d 1x3x3 32>32 @8x28": (
        partial(nn.Conv3d, 32, 32, (1, 3, 3), 1, (0, 1, 1)), ((1, 32, 8, 28, 28),)
    ),
    "conv transposed 2x2 /2 32>16 @64": (
        partial(nn.ConvTranspose2d, 32, 16, 2, 2), ((1, 32, 64, 64),)
    ),
    "conv transposed 4x4 /2 64>32 @32": (
        partial(nn.ConvTranspose2d, 64, 32, 4, 2, 1), ((1, 64, 32, 32),)
    ),
    "conv transposed 3x3 17>9 @29": (
        partial(nn.ConvTranspose2d, 17, 9, 3), ((2, 17, 29, 29),)
    ),
    "conv transposed 1-d 4 /2 64>32 @257": (
        partial(nn.ConvTranspose1d, 64, 32, 4, 2, 1), ((1, 64, 257),)
    ),
    "conv tiny 3>4 @5": (partial(nn.Conv2d, 3, 4, 3), ((1, 3, 5, 5),)),
}  # fmt: skip
POOLS: Mapping[str, tuple[Made, tuple[Shape, ...]]] = {
    "max pool 3x3 /2 64 @112": (partial(nn.MaxPool2d, 3, 2, 1), ((1, 64, 112, 112),)),
    "max pool 2x2 33 @57": (partial(nn.MaxPool2d, 2), ((2, 33, 57, 57),)),
    "average pool 3x3 64 @56": (partial(nn.AvgPool2d, 3, 1, 1), ((1, 64, 56, 56),)),
    "average pool all 2048 @7": (partial(nn.AdaptiveAvgPool2d, 1), ((1, 2048, 7, 7),)),
    "max pool 1-d 3 64 @1001": (partial(nn.MaxPool1d, 3), ((3, 64, 1001),)),
    "upsample nearest 32 @32": (
        partial(nn.Upsample, scale_factor=2), ((1, 32, 32, 32),)
    ),
    "upsample bilinear 32 @32": (
        partial(nn.Upsample, scale_factor=2, mode="bilinear"), ((1, 32, 32, 32),)
    ),
    "batch norm 64 @56": (partial(nn.BatchNorm2d, 64), ((1, 64, 56, 56),)),
    "group norm 8, 64 @57": (partial(nn.GroupNorm, 8, 64), ((1, 64, 57, 57),)),
    "pad 3 16 @65": (partial(nn.ZeroPad2d, 3), ((2, 16, 65, 65),)),
    "pixel shuffle 2, 64 @33": (partial(nn.PixelShuffle, 2), ((1, 64, 33, 33),)),
}  # fmt: skip
ROWS: Mapping[str, tuple[Made, tuple[Shape, ...]]] = {
    "linear 128 768>3072": (partial(nn.Linear, 768, 3072), ((128, 768),)),
    "linear 1 4096>4096": (partial(nn.Linear, 4096, 4096), ((1, 4096),)),
    "linear 7 129>257": (partial(nn.Linear, 129, 257), ((7, 129),)),
    "matmul 12x128x64x128": (applied(torch.matmul), ((12, 128, 64), (12, 64, 128))),
    "matmul 509x263x127": (applied(torch.matmul), ((509, 263), (263, 127))),
    "softmax 1536x128": (applied(torch.softmax, dim=-1), ((1536, 128),)),
    "softmax 3x100003": (applied(torch.softmax, dim=-1), ((3, 100003),)),
    "layer norm 128x768": (partial(nn.LayerNorm, 768), ((128, 768),)),
    "layer norm 7x65537": (partial(nn.LayerNorm, 65537), ((7, 65537),)),
    "sum of columns 4096x257": (applied(torch.sum, dim=0), ((4096, 257),)),
    "mean of rows 257x4096": (applied(torch.mean, dim=-1), ((257, 4096),)),
    "argmax 64x30522": (applied(lambda x: torch.argmax(x, -1).float()), ((64, 30522),)),
    "gelu 128x3072": (applied(F.gelu), ((128, 3072),)),
    "silu 999x1001": (applied(F.silu), ((999, 1001),)),
    "transpose 769x1025": (applied(lambda x: x.t().contiguous()), ((769, 1025),)),
    "concat 2 of 64x3001": (applied(lambda x, y: torch.cat((x, y), 1)), ((64, 3001),) * 2),
    "add broadcast 64x1 1x4099": (applied(torch.add), ((64, 1), (1, 4099))),
    "cumulative sum 64x4097": (applied(torch.cumsum, dim=-1), ((64, 4097),)),
    "add tiny 100": (applied(torch.add), ((100,), (100,))),
    "relu tiny 100": (applied(torch.relu), ((100,),)),
    "linear tiny 1 10>10": (partial(nn.Linear, 10, 10), ((1, 10),)),
    "softmax tiny 10x10": (applied(torch.softmax, dim=-1), ((10, 10),)),
}
OPERATORS = {**CONVOLUTIONS, **POOLS, **ROWS}
LEAST = 0.9
"""The part of the best peer's speed that no operator should be below."""


def subject(name: str) -> Subject:
    """An operator with its inputs, the same each time."""
    make, shapes = OPERATORS[name]
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = make().eval().requires_grad_(False)
        return Subject(model, tuple(torch.randn(shape) for shape in shapes))


def summary(rows: Sequence[CpuRow]) -> str:
    """A line for each operator: microseconds of each system, and the best peer's over hidet's."""
    by_name: dict[str, dict[str, float]] = {}
    for row in rows:
        by_name.setdefault(row.network, {})[row.system] = row.least
    lines, ratios = [], []
    for name, each in by_name.items():
        peers = [least for system, least in each.items() if not system.startswith("hidet")]
        ratios.append(min(peers) / each["hidet"])
        times = [number(least * 1e3, ".1f") for least in each.values()]
        lines.append([name, *times, number(ratios[-1], ".2f")])
    systems = list(dict.fromkeys(row.system for row in rows))
    below = sum(ratio < LEAST for ratio in ratios)
    mean = statistics.geometric_mean(ratios)
    text = f"Geometric mean {mean:.2f}; {below} of {len(ratios)} below {LEAST}."
    return f"{table(('operator', *systems, 'best peer / hidet'), lines)}\n\n{text}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*BESIDE])
    parser.add_argument("--seconds", type=float, default=1.0, help="for all systems of an operator")
    asked = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    print(headline(machine("cpu")))
    rows: list[CpuRow] = []
    for name in OPERATORS:
        if not asked.names or any(part in name for part in asked.names):
            found = compared(name, subject(name), asked.systems, asked.seconds)
            print("; ".join(f"{row.system} {row.least * 1e3:.1f} us" for row in found), flush=True)
            rows += found
    print(f"\n{summary(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
