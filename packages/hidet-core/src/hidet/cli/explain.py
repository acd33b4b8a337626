"""`hidet explain`: what an error code stands for, and what to do about it."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
from importlib.resources import files
from inspect import cleandoc

import hidet.sim  # noqa: F401  (brings the simulator's own errors)
from hidet.cli.markdown import shown
from hidet.errors import BadArgument, HidetError, every_kind

WIDTH = 100
"""Columns that are comfortable to read, where the terminal has more."""


def explain(code: str | None) -> int:
    """Print the section of `code` in the page of errors, or the first line of every code."""
    kinds = {kind.code: kind for kind in every_kind()}
    if code is None:
        width = max(map(len, kinds))
        for name, kind in sorted(kinds.items()):
            print(f"{name:{width}}  {meaning(kind).splitlines()[0]}")
        return 0
    if code not in kinds:
        near = difflib.get_close_matches(code, kinds, n=1)
        hint = f"did you mean {near[0]}?" if near else "`hidet explain` lists all codes"
        raise BadArgument(f"there is no error code {code!r}", help=hint)
    kind = kinds[code]
    styled = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = min(WIDTH, shutil.get_terminal_size().columns)
    print(shown(f"## {code}\n\n{section(code) or meaning(kind)}", width, styled) + "\n")
    parents = [each.code for each in kind.__mro__[1:] if issubclass(each, HidetError)]
    print(f"raised as {kind.__module__}.{kind.__name__}" + "".join(f" < {p}" for p in parents))
    return 0


def section(code: str) -> str | None:
    """What the page of errors says of a code, as Markdown; None of a code that a plugin brought."""
    page = files("hidet.errors").joinpath("codes.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(code)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return found and found[1].strip()


def meaning(kind: type[HidetError]) -> str:
    """What the class says of itself."""
    return cleandoc(kind.__doc__ or "")
