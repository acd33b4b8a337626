"""The cases that are not right or not compiled, and why, in a file; it only shrinks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ci.suites.score import Score

Known = dict[str, dict[str, str]]


def read(file: Path) -> Known:
    """The cases by what they are not ("not right", "not compiled"), each with its reason."""
    found: Known = json.loads(file.read_text())
    return found


def of(scores: Iterable[Score]) -> Known:
    """The same of scores."""
    found: Known = {"not right": {}, "not compiled": {}}
    for each in sorted(scores, key=lambda score: score.name):
        if not each.is_right:
            found["not right"][each.name] = each.reason
        elif not each.is_compiled:
            found["not compiled"][each.name] = on_the_host(each)
    return found


def on_the_host(score: Score) -> str:
    """What of a case is not compiled, in a line."""
    return f"on the host: {', '.join(score.host)}"


def recorded(scores: Iterable[Score], before: Known) -> Known:
    """What these cases are now, with the others as they were."""
    found, names = of(scores), {each.name for each in scores}
    for kind, listed in found.items():
        kept = {n: r for n, r in before.get(kind, {}).items() if n not in names}
        found[kind] = dict(sorted({**kept, **listed}.items()))
    return found


def write(known: Known, file: Path) -> None:
    """Record the cases."""
    file.write_text(json.dumps(known, indent=1) + "\n")


def worse(scores: Iterable[Score], known: Known) -> list[str]:
    """The cases that were right, or compiled, and are no longer."""
    found = []
    for each in scores:
        was_right = each.name not in known["not right"]
        was_compiled = was_right and each.name not in known["not compiled"]
        if was_right and not each.is_right:
            found.append(f"{each.name}: {each.reason}")
        elif was_compiled and not each.is_compiled:
            found.append(f"{each.name}: {on_the_host(each)}")
    return found
