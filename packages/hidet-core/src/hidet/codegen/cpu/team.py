"""The team of threads that kernels run their parallel loops on, as a translation unit of its own.

`team.cpp` says how it works; `rows.cpp` is what else runs on it without having been compiled for a
graph. An archive that needs it has it as a binary beside its kernels, so that it runs without a
compiler; `runtime/team.py` hands it to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from hidet.codegen.common.function import Function


@cache
def team_source() -> str:
    """The text of the team, and of the copies that it makes of inputs."""
    folder = files("hidet.codegen.cpu")
    return "\n".join(folder.joinpath(name).read_text("utf-8") for name in ("team.cpp", "rows.cpp"))


def needs_team(functions: Iterable[Function]) -> bool:
    """Whether any of the functions has loops for the team."""
    return any("parallel" in each.used for each in functions)
