"""Flow graphs as SVG: a box for each input and operator, constants named in the boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from hidet.graph.body import bodies_of
from hidet.graph.layered import Layout, layered
from hidet.graph.operator import spelled
from hidet.graph.show import name_tensors, show, typed
from hidet.graph.tensor import Node, Tensor

if TYPE_CHECKING:
    from hidet.graph.flow import FlowGraph

LINE, LETTER, PADDING, GAP, BETWEEN = 15, 6.7, 8, 18.0, 34
"""Pixels: height of a line of text, width of a letter, between text and border, between boxes of a
layer, between layers."""
LONGEST = 44
"""Letters of a line; more are left out."""
COLOURS = {
    "input": "#d9ead3",
    "kernels": "#dbe7f6",
    "framework": "#f6e3c5",
    "region": "#e3d9f2",
    "output": "#e6e6e6",
}
STYLE = (
    "<style>text{font:11px monospace;fill:#222}.name{font-weight:bold}"
    "path{fill:none;stroke:#777}rect{stroke:#555}</style>"
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 1 L7 4 L0 7 z" style="fill:#777;stroke:none"/></marker></defs>'
)


@dataclass(frozen=True)
class Box:
    """What a box says: a name in bold, lines below it, and more for who points at it."""

    kind: str
    name: str
    lines: tuple[str, ...]
    more: str = ""

    @property
    def width(self) -> float:
        """Its width in pixels."""
        return max(map(len, (self.name, *self.lines))) * LETTER + 2 * PADDING

    @property
    def height(self) -> int:
        """Its height in pixels."""
        return LINE * (1 + len(self.lines)) + PADDING


def picture(graph: FlowGraph) -> str:
    """The graph as the text of an SVG file: values flow downwards."""
    names = name_tensors(graph)
    boxes = [Box("input", names[each], (typed(each),)) for each in graph.inputs]
    maker = {each: number for number, each in enumerate(graph.inputs)}
    edges = []
    for number, node in enumerate(graph.nodes, len(boxes)):
        boxes.append(operator_box(node, names))
        edges += [(maker[each], number) for each in dict.fromkeys(node.inputs) if each in maker]
        maker |= dict.fromkeys(node.outputs, number)
    ends = [*(("return", each) for each in graph.results)]
    ends += [(f"{size.name} =", each) for size, each in graph.size_sources.items()]
    for end, each in ends:
        boxes.append(Box("output", end, (names[each],)))
        edges += [(maker[each], len(boxes) - 1)] if each in maker else []
    return drawn(boxes, layered([each.width for each in boxes], edges, GAP))


def operator_box(node: Node, names: Mapping[Tensor, str]) -> Box:
    """The box of an operator: its results, and the constants that it reads."""
    results = [f"{names[each]}: {typed(each)}" for each in node.outputs]
    read = [each for each in dict.fromkeys(node.inputs) if each.storage is not None]
    lines = [shortened(each) for each in (*results, *(f"{names[c]} = {typed(c)}" for c in read))]
    given = [f"{key} = {spelled(value)}" for key, value in node.op.attributes().items()]
    where = [str(node.place)] if node.place is not None else []
    inside = [show(each.graph) for each in bodies_of(node.op)]
    more = "\n".join([*given, *where, *inside])
    return Box(node.op.kind, type(node.op).__name__, tuple(lines), more)


def shortened(line: str) -> str:
    """As much of a line as a box shows."""
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def drawn(boxes: list[Box], layout: Layout) -> str:
    """The boxes and the lines between them."""
    heights = [0] * layout.layers
    for box, layer in zip(boxes, layout.layer_of, strict=False):
        heights[layer] = max(heights[layer], box.height)
    layer_starts = [
        PADDING + sum(heights[:layer]) + layer * BETWEEN for layer in range(layout.layers)
    ]
    body = []
    for upper, lower in layout.steps:
        layer = layout.layer_of[upper]
        height = boxes[upper].height if upper < len(boxes) else heights[layer]
        start = (layout.middles[upper] + PADDING, layer_starts[layer] + height)
        end = (layout.middles[lower] + PADDING, layer_starts[layer + 1])
        body.append(line(start, end, None if lower < len(boxes) else heights[layer + 1]))
    for box, middle, layer in zip(boxes, layout.middles, layout.layer_of, strict=False):
        body += rectangle(box, middle - box.width / 2 + PADDING, layer_starts[layer])
    widths = [*(box.width for box in boxes), *[0.0] * (len(layout.middles) - len(boxes))]
    right = max((m + w / 2 for m, w in zip(layout.middles, widths, strict=True)), default=0.0)
    size = (
        right + 2 * PADDING,
        layer_starts[-1] + heights[-1] + PADDING if layer_starts else PADDING,
    )
    wide, high = map(round, size)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}">'
    )
    return "\n".join([head, STYLE, *body, "</svg>"])


def line(start: tuple[float, float], end: tuple[float, float], on: int | None) -> str:
    """A piece of a line: an arrow to a box, or on through the height of a layer."""
    (x, y), (to, top) = start, end
    half = (y + top) / 2
    path = f"M{x:.0f} {y:.0f}C{x:.0f} {half:.0f} {to:.0f} {half:.0f} {to:.0f} {top:.0f}"
    if on is None:
        return f'<path d="{path}" marker-end="url(#tip)"/>'
    return f'<path d="{path}v{on}"/>'


def rectangle(box: Box, left: float, top: float) -> list[str]:
    """A box with its text."""
    more = f"<title>{escape(box.more)}</title>" if box.more else ""
    made = [
        f'<g>{more}<rect x="{left:.0f}" y="{top:.0f}" width="{box.width:.0f}" '
        f'height="{box.height}" rx="4" fill="{COLOURS[box.kind]}"/>'
    ]
    for number, line in enumerate((box.name, *box.lines), 1):
        style = ' class="name"' if number == 1 else ""
        at = f'x="{left + PADDING:.0f}" y="{top + number * LINE:.0f}"'
        made.append(f"<text {at}{style}>{escape(line)}</text>")
    return [*made, "</g>"]
