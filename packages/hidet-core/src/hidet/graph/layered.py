"""Where the boxes of a directed acyclic graph are drawn: in layers, few lines crossing.

After Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
structures" (1981): a layer for each box, points where a line passes a layer, an order within each
layer by the mean place of neighbours, and then places, as near to those means as widths allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

SWEEPS = 8
"""How often layers are ordered by their neighbours; more hardly changes anything."""
PASSED = 12.0
"""The width that a line takes where it passes a layer."""


@dataclass(frozen=True)
class Layout:
    """Boxes, and after them the points where lines pass a layer: the middle and layer of each.

    `steps` are the pieces of lines, from one layer to the next; lines from one box share pieces.
    """

    middles: list[float]
    layer_of: list[int]
    steps: list[tuple[int, int]]

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return max(self.layer_of, default=-1) + 1


def layered(widths: Sequence[float], edges: Sequence[tuple[int, int]], gap: float) -> Layout:
    """Places for boxes of these widths, numbered so that each edge goes to a larger number."""
    layer_of = deepest(len(widths), edges)
    wide = list(widths)
    steps: dict[tuple[int, int], None] = {}
    passing: dict[tuple[int, int], int] = {}
    for start, end in edges:
        at = start
        for layer in range(layer_of[start] + 1, layer_of[end]):
            point = passing.setdefault((start, layer), len(wide))
            if point == len(wide):
                wide.append(PASSED)
                layer_of.append(layer)
            steps[at, point] = None
            at = point
        steps[at, end] = None
    rows: list[list[int]] = [[] for _ in range(max(layer_of, default=-1) + 1)]
    for point, layer in enumerate(layer_of):
        rows[layer].append(point)
    return Layout(placed(rows, wide, list(steps), gap), layer_of, list(steps))


def deepest(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: below all that lead to it; where nothing does, above its reader."""
    layer = [0] * count
    for start, end in sorted(edges, key=lambda edge: edge[1]):
        layer[end] = max(layer[end], layer[start] + 1)
    fed = {end for _, end in edges}
    readers: dict[int, int] = {}
    for start, end in edges:
        readers[start] = min(readers.get(start, layer[end]), layer[end])
    for box, first in readers.items():
        if box not in fed:
            layer[box] = first - 1
    return layer


def placed(
    rows: Sequence[list[int]],
    widths: Sequence[float],
    steps: Sequence[tuple[int, int]],
    gap: float,
) -> list[float]:
    """The middle of each point; `rows` are ordered on the way."""
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for upper, lower in steps:
        above[lower].append(upper)
        below[upper].append(lower)
    middles = [0.0] * len(widths)
    for row in rows:
        spread(row, [0.0] * len(row), widths, gap, middles)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            near = above if down else below
            wanted = {box: mean_of(near[box], middles, middles[box]) for box in row}
            if sweep < SWEEPS - 2:
                row.sort(key=wanted.__getitem__)
            spread(row, [wanted[box] for box in row], widths, gap, middles)
    left = min((middles[box] - widths[box] / 2 for row in rows for box in row), default=0.0)
    return [middle - left for middle in middles]


def mean_of(boxes: Sequence[int], middles: Sequence[float], otherwise: float) -> float:
    """The mean place of some boxes."""
    return fmean(middles[box] for box in boxes) if boxes else otherwise


def spread(
    row: Sequence[int],
    wanted: Sequence[float],
    widths: Sequence[float],
    gap: float,
    middles: list[float],
) -> None:
    """Place a row in its order, without overlap, with the least squared distance from `wanted`.

    Without the widths between neighbours this is a regression by an increasing sequence: where
    neighbours are in the wrong order they come together at their mean.
    """
    offsets, reach = [], 0.0
    for before, box in zip([None, *row], row, strict=False):
        reach += 0.0 if before is None else (widths[before] + widths[box]) / 2 + gap
        offsets.append(reach)
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        value, count = want - offset, 1
        while pools and pools[-1][0] > value:
            other, more = pools.pop()
            value, count = (value * count + other * more) / (count + more), count + more
        pools.append((value, count))
    flat = [value for value, count in pools for _ in range(count)]
    for box, value, offset in zip(row, flat, offsets, strict=True):
        middles[box] = value + offset
