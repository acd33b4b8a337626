"""docs/gallery.md shows the examples with what they print: read, compared and written here.

`python -m ci.examples FOLDER --write` writes the sections of the examples that it ran.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
SECTION = re.compile(r"^## (\S+)\n.*?^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHANGING = (
    (re.compile(re.escape(f"{ROOT}/")), ""),
    (re.compile(r"\b\d+(?:\.\d+)?(?= (?:ms|us|s)\b)"), "..."),
    (re.compile(r"\b\d\.\d+e[-+]\d+"), "..."),
    (re.compile(r"(, schedule \w+), \w+\([^)]*\)"), r"\1"),
)
"""What differs from run to run and from machine to machine: where the repository lies, times,
errors of rounding, tile sizes."""


def shown() -> dict[str, str]:
    """The output of each example on the page, by the example's path under examples/."""
    return dict(SECTION.findall(PAGE.read_text(encoding="utf-8")))


def steady(output: str) -> str:
    """An output without what changes."""
    for pattern, instead in CHANGING:
        output = pattern.sub(instead, output)
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines())


def write(found: Mapping[str, str]) -> None:
    """Write the page with these outputs; other examples keep theirs."""
    outputs = {**shown(), **found}
    PAGE.write_text(page(outputs), encoding="utf-8")


def page(outputs: Mapping[str, str]) -> str:
    """The page, for outputs by the examples' paths under examples/."""
    lines = [
        "# Gallery",
        "",
        "The programs of [examples/](../examples/README.md) with what they print on a machine",
        "without a GPU. CI runs them and compares their output with this page. Times, errors of",
        "rounding and tile sizes differ from machine to machine and are left out.",
    ]
    for name in sorted(outputs):
        about = ast.get_docstring(ast.parse((ROOT / "examples" / name).read_text("utf-8")))
        about = (about or "").partition("\n\nRun it")[0]
        lines += ["", f"## {name}", "", about, ""]
        lines += [f"[examples/{name}](../examples/{name}) prints:", ""]
        lines += ["```text", outputs[name].rstrip("\n"), "```"]
    return "\n".join(lines) + "\n"
