"""The team of threads that kernels run their parallel loops on, as a translation unit of its own.

`team.cpp` says how it works. An archive that needs it has it as a binary beside its kernels, so
that it runs without a compiler; `runtime/team.py` hands it to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from hidet.codegen.common.function import Function


@cache
def team_source() -> str:
    """The text of the team."""
    return files("hidet.codegen.cpu").joinpath("team.cpp").read_text(encoding="utf-8")


def needs_team(functions: Iterable[Function]) -> bool:
    """Whether any of the functions has loops for the team."""
    return any("parallel" in each.used for each in functions)
