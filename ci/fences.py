"""Run the ```python fences of Markdown pages; lines `#> text` after a fence's code are its output.

The fences of one page run in order and share their names, as a reader would type them.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import traceback
from pathlib import Path
from typing import NamedTuple


class Fence(NamedTuple):
    """Code, the line of the page it starts at, and what it must print (None: not looked at)."""

    line: int
    code: str
    expected: str | None


def fences(page: str) -> list[Fence]:
    """The Python fences of a page."""
    found: list[Fence] = []
    inside: list[str] | None = None
    start = 0
    for number, line in enumerate(page.splitlines(), 1):
        if inside is None and line.rstrip() == "```python":
            inside, start = [], number + 1
        elif inside is not None and line.rstrip() == "```":
            found.append(_fence(start, inside))
            inside = None
        elif inside is not None:
            inside.append(line)
    if inside is not None:
        raise ValueError(f"the fence at line {start - 1} is never closed")
    return found


def check(path: Path) -> tuple[int, list[str]]:
    """How many fences the page has, and what went wrong in them."""
    names: dict[str, object] = {"__name__": "__main__"}
    found, problems = fences(path.read_text()), []
    for fence in found:
        where = f"{path}:{fence.line}"
        # Registered so that tracebacks, and inspect.getsource inside the fence, show the page.
        source = "\n" * (fence.line - 1) + fence.code
        linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(source, where, "exec", dont_inherit=True), names)
        except Exception:
            problems.append(f"{where}\n{traceback.format_exc()}")
            continue
        printed = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        if fence.expected is not None and printed != fence.expected:
            problems.append(f"{where}\nexpected:\n{fence.expected}\nprinted:\n{printed}")
    return len(found), problems


def main(pages: list[str]) -> int:
    """Check all pages and print the totals; 1 if anything went wrong."""
    results = {page: check(Path(page)) for page in pages}
    for problem in (p for _, problems in results.values() for p in problems):
        print(problem)
    total = sum(number for number, _ in results.values())
    failed = sum(len(problems) for _, problems in results.values())
    print(f"{len(pages)} pages, {total} fences: {total - failed} passed, {failed} failed")
    return min(failed, 1)


def _fence(start: int, lines: list[str]) -> Fence:
    expected = [line[2:].removeprefix(" ").rstrip() for line in lines if line.startswith("#>")]
    code = "\n".join("" if line.startswith("#>") else line for line in lines) + "\n"
    return Fence(start, code, "\n".join(expected) if expected else None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
