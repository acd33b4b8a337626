"""Loops that are gone through while transcribing, under the names that users know.

`for i in meta.range(4)` and `for x in meta.each(items)` write their body once for each item.
"""

from __future__ import annotations

import builtins

from hidet.lang.loops import Static, static

each = static


def range(*bounds: int) -> Static:
    """The numbers of Python's `range`, which must be known beforehand."""
    return static(builtins.range(*bounds))
