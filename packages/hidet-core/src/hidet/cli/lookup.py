"""What a command's argument names: one of a list, or what it is nearest to."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from inspect import cleandoc
from typing import Any, TypeVar

from hidet.errors import BadArgument

T = TypeVar("T")


def listed(kinds: Mapping[str, type[Any]]) -> str:
    """Every name beside the first line of what its class says of itself, in order."""
    width = max(map(len, kinds))
    first = {name: meaning(kind).partition("\n")[0] for name, kind in sorted(kinds.items())}
    return "\n".join(f"{name:{width}}  {line}" for name, line in first.items())


def meaning(kind: type[Any]) -> str:
    """What a class says of itself."""
    return cleandoc(kind.__doc__ or "")


def chosen(name: str, among: Mapping[str, T], what: str, command: str) -> T:
    """The one of that name; `BadArgument` with the nearest, or the `command` that lists all."""
    if name in among:
        return among[name]
    near = difflib.get_close_matches(name, among, n=1)
    hint = f"did you mean {near[0]}?" if near else f"`{command}` lists all of them"
    raise BadArgument(f"there is no {what} {name!r}", help=hint)
