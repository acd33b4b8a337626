"""`python -m benchmarks.plot`: the plots of the pages, drawn from the tables in results/.

A plot shows the speed-up of each system over the first one, for each network; it is written twice
into docs/assets, for light and for dark pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS, ASSETS = ROOT / "benchmarks" / "results", ROOT / "docs" / "assets"
WIDTH, LEFT, LABEL, BAR, GAP, TOP = 460, 110, 176, 16, 14, 44  # a phone shows it little smaller
COLOURS = {"light": ("#24292f", "#8c959f"), "dark": ("#e6edf3", "#6e7681")}
"""Text and the bars of other systems; ours have a colour that suits both."""
OURS, PEER = "#2f81f7", "#d29922"
NAMES = {
    "resnet50": "ResNet-50",
    "mobilenet_v2": "MobileNet-V2",
    "inception_v3": "Inception-V3",
    "bert_base": "BERT-base",
    "vit_b16": "ViT-B/16",
    "gpt2": "GPT-2",
    "llama_1b": "Llama 1B",
    "densenet121": "DenseNet-121",
    "t5_encoder": "T5 encoder",
    "deberta_v3": "DeBERTa-v3",
}


@dataclass(frozen=True)
class Plot:
    """A plot of the first table of a file in results/; `systems` come in order, the first is 1."""

    name: str
    file: str
    title: str
    systems: tuple[str, ...]
    networks: tuple[str, ...] = ()
    """Those that are drawn; none named: all that each system has run."""


PLOTS = (
    Plot(
        "speed-cpu",
        "cpu-networks.md",
        "Speed-up over eager: one CPU thread, float32",
        ("eager", "inductor", "hidet"),
    ),
    Plot(
        "speed-h200",
        "h200-networks.md",
        "Speed-up over eager in a CUDA graph: H200, float16",
        ("eager in a CUDA graph", "inductor", "hidet", "hidet_torch.compile"),
        tuple(NAMES.values()),
    ),
)


def main() -> None:
    """Draw all plots."""
    for plot in PLOTS:
        for theme in COLOURS:
            path = ASSETS / f"{plot.name}-{theme}.svg"
            path.write_text(drawn(plot, theme), encoding="utf-8")
            print(path.relative_to(ROOT))


def speedups(plot: Plot) -> dict[str, dict[str, float]]:
    """For each network the speed-up of each system over the first one."""
    times: dict[str, dict[str, float]] = {}
    for network, system, milliseconds in rows((RESULTS / plot.file).read_text(encoding="utf-8")):
        if system in plot.systems:
            times.setdefault(network, {})[system] = milliseconds
    first = plot.systems[0]
    return {
        network: {each: found[first] / found[each] for each in plot.systems}
        for network, found in times.items()
        if set(found) == set(plot.systems) and (not plot.networks or network in plot.networks)
    }


def rows(page: str) -> Iterator[tuple[str, str, float]]:
    """Network, system and milliseconds of each row of the first table, of batch 1."""
    lines = re.search(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert lines is not None, "a page of results has a table"
    for line in lines[0].splitlines()[2:]:
        network, system, milliseconds = (cell.strip() for cell in line.split("|")[1:4])
        kind, *more = network.split(", ")
        if not more or more[-1] == "batch 1":
            yield NAMES.get(kind, kind), system, float(milliseconds)


def drawn(plot: Plot, theme: str) -> str:
    """The plot as SVG."""
    found = speedups(plot)
    text, grey = COLOURS[theme]
    colours = dict(zip(plot.systems, colours_of(plot.systems, grey), strict=True))
    high = TOP + len(found) * (len(plot.systems) * BAR + GAP) + 8
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" '
        f'height="{high}" font-family="sans-serif" font-size="13" fill="{text}">'
    )
    title = f'<text x="8" y="20" font-weight="bold">{escape(plot.title)}</text>'
    return "\n".join([head, title, *bars(found, colours), "</svg>", ""])


def colours_of(systems: Sequence[str], grey: str) -> list[str]:
    """A colour for each system: grey for the first, one for ours."""
    return [grey, *(OURS if each.startswith("hidet") else PEER for each in systems[1:])]


def bars(found: Mapping[str, Mapping[str, float]], colours: Mapping[str, str]) -> Iterator[str]:
    """The networks' names, and a bar for each system with its number."""
    longest = max(value for each in found.values() for value in each.values())
    y = TOP
    for network, values in found.items():
        middle = y + len(values) * BAR / 2 + 5
        yield f'<text x="{LEFT - 10}" y="{middle:.0f}" text-anchor="end">{escape(network)}</text>'
        for system, value in values.items():
            wide = (WIDTH - LEFT - LABEL) * value / longest
            size = f'width="{wide:.1f}" height="{BAR - 3}"'
            yield f'<rect x="{LEFT}" y="{y}" {size} fill="{colours[system]}"/>'
            label = f"{value:.2f}x {system.partition(' in ')[0]}"
            yield f'<text x="{LEFT + wide + 6:.1f}" y="{y + 11}" font-size="12">{label}</text>'
            y += BAR
        y += GAP


if __name__ == "__main__":
    main()
