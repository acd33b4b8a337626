"""Script functions from text: a wrong twin is the right text with one line changed."""

import itertools
import linecache
from textwrap import dedent

HEAD = "from hidet.lang import *\nfrom hidet.lang.cuda import *\n"
NUMBERS = itertools.count()


def changed(text, changes):
    """The whole text of a module with the kernel, pieces replaced that are there once."""
    text = HEAD + dedent(text)
    for old, new in changes.items():
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def written(text, changes=None):
    """The script function `kernel` of a text."""
    text, file = changed(text, changes or {}), f"<kernel {next(NUMBERS)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = {}
    exec(compile(text, file, "exec"), names)
    return names["kernel"]
