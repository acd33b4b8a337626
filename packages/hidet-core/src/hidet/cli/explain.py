"""`hidet explain`: what an error code stands for, and what to do about it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.resources import files

import hidet.sim  # noqa: F401  (brings the simulator's own errors)
from hidet.cli.lookup import chosen, listed, meaning
from hidet.cli.markdown import shown
from hidet.errors import HidetError, every_kind

WIDTH = 100
"""Columns that are comfortable to read, where the terminal has more."""


def explain(code: str | None) -> int:
    """Print the section of `code` in the page of errors, or the first line of every code."""
    kinds = {kind.code: kind for kind in every_kind()}
    if code is None:
        print(listed(kinds))
        return 0
    kind = chosen(code, kinds, "error code", "hidet explain")
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
