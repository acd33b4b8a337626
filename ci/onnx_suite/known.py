"""`suite.json`: the cases that are not right or not compiled, and why; it only shrinks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ci.onnx_suite.score import Score

FILE = Path(__file__).parents[2] / "packages/hidet-onnx/tests/suite.json"
VERSION = "1.23.2"
"""The version of onnx whose cases are recorded; others have other cases."""
Known = dict[str, dict[str, str]]


def read() -> Known:
    """The cases by what they are not ("right", "compiled"), each with its reason."""
    found: Known = json.loads(FILE.read_text())
    return found


def of(scores: Iterable[Score]) -> Known:
    """The same of scores."""
    found: Known = {"not right": {}, "not compiled": {}}
    for each in sorted(scores, key=lambda score: score.name):
        if not each.is_right:
            found["not right"][each.name] = each.reason
        elif not each.is_compiled:
            found["not compiled"][each.name] = f"on the host: {', '.join(each.host)}"
    return found


def write(known: Known) -> None:
    """Record the cases."""
    FILE.write_text(json.dumps(known, indent=1) + "\n")


def worse(scores: Iterable[Score], known: Known) -> list[str]:
    """The cases that were right, or compiled, and are no longer."""
    found = []
    for each in scores:
        was_right = each.name not in known["not right"]
        was_compiled = was_right and each.name not in known["not compiled"]
        if was_right and not each.is_right:
            found.append(f"{each.name}: {each.reason}")
        elif was_compiled and not each.is_compiled:
            found.append(f"{each.name}: on the host: {', '.join(each.host)}")
    return found
