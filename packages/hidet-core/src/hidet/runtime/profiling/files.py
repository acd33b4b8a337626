"""Profiles as files: a trace for Perfetto, a bar chart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape

from hidet.runtime.profiling.table import Kernel, Run

MOST = 24
"""How many bars a chart has; the rest is one."""
WIDTH, LEFT, LINE = 880, 330, 22


def trace(runs: Sequence[Run]) -> str:
    """The runs as JSON in the format of Chrome's traces, which ui.perfetto.dev opens."""
    start = min((each.start for each in runs), default=0.0)
    events = [
        {
            "name": each.name,
            "ph": "X",
            "ts": (each.start - start) * 1e6,
            "dur": (each.seconds or 0.0) * 1e6,
            "pid": "hidet",
            "tid": each.device,
            "args": arguments(each),
        }
        for each in runs
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})


def arguments(run: Run) -> dict[str, object]:
    """What a trace tells of a run when it is clicked on."""
    known: dict[str, object] = {"bytes": run.nbytes, "flop": run.flops}
    if run.note is not None:
        known["operators"] = ", ".join(run.note.operators)
        known["schedule"] = run.note.schedule
        known["where"] = ", ".join(run.note.places)
    return known


def bars(found: Sequence[Kernel]) -> str:
    """The kernels as an SVG bar chart, in colours that suit a light and a dark page."""
    shown = [(each.name, each.microseconds or 0.0) for each in found[:MOST]]
    if found[MOST:]:
        rest = sum(each.microseconds or 0.0 for each in found[MOST:])
        shown.append((f"{len(found) - MOST} others", rest))
    height = LINE * len(shown) + 16
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *lines(shown), "</svg>", ""])


def lines(shown: Sequence[tuple[str, float]]) -> Iterator[str]:
    """A bar with its name and its microseconds for each kernel."""
    longest = max((time for _, time in shown), default=1.0) or 1.0
    for number, (name, time) in enumerate(shown):
        y, wide = 8 + number * LINE, (WIDTH - LEFT - 90) * time / longest
        text = f'y="{y + 14}" fill="#808080"'
        yield f'<text x="{LEFT - 8}" {text} text-anchor="end">{escape(name[:48])}</text>'
        sizes = f'width="{wide:.1f}" height="{LINE - 6}"'
        yield f'<rect x="{LEFT}" y="{y + 2}" {sizes} fill="#3b82c4"/>'
        yield f'<text x="{LEFT + wide + 6:.1f}" {text}>{time:.1f} µs</text>'
