"""Long files and long functions fail: nobody reads them."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FILE_LIMIT, FUNCTION_LIMIT = 400, 60
FOLDERS = ("packages", "ci", "benchmarks", "examples", "docs")


class Size(NamedTuple):
    """The lines of a file, or of a function in it."""

    lines: int
    where: str
    limit: int


def sizes(path: Path, source: str) -> list[Size]:
    """The size of the file and of each function in it."""
    functions = [
        Size(
            (n.end_lineno or n.lineno) - n.lineno + 1, f"{path}:{n.lineno} {n.name}", FUNCTION_LIMIT
        )
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [Size(len(source.splitlines()), str(path), FILE_LIMIT), *functions]


def main() -> int:
    """Print the longest, then what is too long; the number of the latter is the exit status."""
    files = [f for folder in FOLDERS for f in sorted((ROOT / folder).rglob("*.py"))]
    files.append(ROOT / "noxfile.py")
    found = [s for f in files for s in sizes(f.relative_to(ROOT), f.read_text())]
    for limit, kind in ((FILE_LIMIT, "file"), (FUNCTION_LIMIT, "function")):
        print(f"longest {kind}s (limit {limit} lines)")
        for size in sorted((s for s in found if s.limit == limit), reverse=True)[:5]:
            print(f"  {size.lines:>4}  {size.where}")
    over = [s for s in found if s.lines > s.limit]
    for size in over:
        print(f"too long: {size.where} has {size.lines} lines, the limit is {size.limit}")
    return min(len(over), 1)


if __name__ == "__main__":
    sys.exit(main())
