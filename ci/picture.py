"""`python -m ci.picture`: the picture of docs/architecture.md, from a model to what runs.

It is written twice into docs/assets, for light and for dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
WIDTH, COLUMN, ROW, HIGH, TOP = 532, 130, 62, 40, 16
COLOURS = {"light": ("#24292f", "#f6f8fa", "#8c959f"), "dark": ("#e6edf3", "#161b22", "#6e7681")}
"""Text, the inside of boxes, and their edges with the arrows."""
OURS = "#2f81f7"


class Box(NamedTuple):
    """A box of a row: what it is called, what it does, and the columns that it covers."""

    title: str
    does: str
    column: int
    columns: int


class Step(NamedTuple):
    """A row of boxes, and what goes from it to the next row."""

    boxes: tuple[Box, ...]
    gives: str


STEPS = (
    Step(
        (
            Box("hidet_torch", "ATen graphs", 0, 1),
            Box("hidet_onnx", "files, protos", 1, 1),
            Box("hidet_tf", "functions, Keras", 2, 1),
            Box("graph/ ops/", "hidet.trace_from", 3, 1),
        ),
        "FlowGraph of operators",
    ),
    Step((Box("optimize/", "graph passes", 0, 4),), "FlowGraph, cheaper"),
    Step((Box("fusion/", "partition: which operators share a kernel", 0, 4),), "groups"),
    Step(
        (
            Box("schedules/", "kernels for a group's anchor", 0, 3),
            Box("tuning/", "measures candidates", 3, 1),
        ),
        "Module of kernels",
    ),
    Step((Box("fusion/", "the other operators enter reads and writes", 0, 4),), "the same kernels"),
    Step(
        (
            Box("passes/", "kernel to kernel", 0, 2),
            Box("lang/", "@hidet.script", 2, 1),
            Box("sim/", "runs kernels, no GPU", 3, 1),
        ),
        "lowered kernels",
    ),
    Step((Box("codegen/ toolchain/", "CUDA C++ to cubin, C++ to a library", 0, 4),), "binaries"),
    Step((Box("build/", "archive: plan, binaries, weights; the compile cache", 0, 4),), "archive"),
    Step((Box("runtime/", "runs the plan on a GPU or a CPU", 0, 4),), ""),
)


def main() -> None:
    """Draw the picture for both themes."""
    for theme in COLOURS:
        path = ASSETS / f"architecture-{theme}.svg"
        path.write_text(drawn(theme), encoding="utf-8")
        print(path.relative_to(ASSETS.parents[1]))


def drawn(theme: str) -> str:
    """The picture as SVG."""
    text = COLOURS[theme][0]
    high = TOP + len(STEPS) * ROW
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" '
        f'height="{high}" font-family="sans-serif" font-size="13" fill="{text}">'
    )
    rows = [line for number, step in enumerate(STEPS) for line in row(number, step, theme)]
    return "\n".join([head, *rows, "</svg>", ""])


def row(number: int, step: Step, theme: str) -> Iterator[str]:
    """The boxes of a step, and the arrow to the next one."""
    _, inside, edge = COLOURS[theme]
    y = TOP + number * ROW
    for box in step.boxes:
        x, wide = 8 + box.column * COLUMN, box.columns * COLUMN - 8
        size = f'x="{x}" y="{y}" width="{wide}" height="{HIGH}" rx="6"'
        yield f'<rect {size} fill="{inside}" stroke="{edge}"/>'
        yield label(x + wide / 2, y + 17, box.title, f'font-weight="bold" fill="{OURS}"')
        yield label(x + wide / 2, y + 33, box.does, 'font-size="12"')
    if step.gives:
        x, low = WIDTH / 2 - 5, y + HIGH
        arrow = f"M{x:.0f} {low + 2}v12m-4 -5l4 5l4 -5"
        yield f'<path d="{arrow}" fill="none" stroke="{edge}" stroke-width="1.5"/>'
        yield f'<text x="{x + 12:.0f}" y="{low + 15}" font-size="11">{escape(step.gives)}</text>'


def label(x: float, y: int, text: str, style: str) -> str:
    """A line of text about a middle."""
    return f'<text x="{x:.0f}" y="{y}" text-anchor="middle" {style}>{escape(text)}</text>'


if __name__ == "__main__":
    main()
