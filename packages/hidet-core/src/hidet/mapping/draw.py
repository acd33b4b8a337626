"""A mapping, a layout or a fragment as a picture: a text grid or an SVG.

Whatever has `cells()` can be drawn; this module knows nothing else about it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Protocol


@dataclass(frozen=True)
class Cells:
    """A grid of labels: what stands at each index; an index without a label is drawn as `.`."""

    shape: tuple[int, ...]
    labels: Mapping[tuple[int, ...], str]


class Drawable(Protocol):
    """Anything that can say what stands in each cell of its grid."""

    def cells(self) -> Cells:
        """The labels to draw."""
        ...


def draw(thing: Drawable) -> str:
    """A text grid, one line for each row; above rank two, one titled grid for each slice."""
    cells = thing.cells()
    width = max((len(label) for label in cells.labels.values()), default=1)
    return "\n".join(
        line
        for title, rows in _slices(cells)
        for line in (*title, *("  ".join(x.rjust(width) for x in row).rstrip() for row in rows))
    )


def draw_svg(thing: Drawable, cell: int = 44) -> str:
    """The same grid as an SVG; a cell's colour is that of its label's part before the colon.

    `cell` is the width of one cell in pixels.
    """
    body: list[str] = []
    top, widest = 0, 1
    for title, rows in _slices(thing.cells()):
        for line in title:
            body.append(f'<text x="4" y="{top + 16}">{escape(line)}</text>')
            top += 24
        for row in rows:
            body += [_square(column * cell, top, cell, x) for column, x in enumerate(row)]
            widest, top = max(widest, len(row)), top + cell // 2
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{widest * cell}" height="{top}" '
        'font-family="monospace" font-size="11">'
    )
    return "\n".join([head, *body, "</svg>"])


def _slices(cells: Cells) -> Iterator[tuple[list[str], list[list[str]]]]:
    """For each setting of all but the last two indices, a title and the rows of labels."""
    shape = (1,) * (2 - len(cells.shape)) + cells.shape
    added = len(shape) - len(cells.shape)
    for outer in product(*map(range, shape[:-2])):
        rows = [
            [cells.labels.get((*outer, i, j)[added:], ".") for j in range(shape[-1])]
            for i in range(shape[-2])
        ]
        title = [f"[{', '.join(map(str, outer))}, :, :]"] if outer else []
        yield title, rows


def _square(left: int, top: int, width: int, label: str) -> str:
    height = width // 2
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" '
        f'fill="{_colour(label)}" stroke="#666"/>'
        f'<text x="{left + 3}" y="{top + height - 6}">{escape(label)}</text>'
    )


def _colour(label: str) -> str:
    owner = "".join(c for c in label.split(":")[0] if c.isdigit())
    if not owner:
        return "#ffffff"
    # The golden angle keeps neighbouring numbers far apart in hue.
    return f"hsl({int(owner) * 137 % 360}, 65%, 80%)"
