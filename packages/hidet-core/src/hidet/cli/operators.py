"""`hidet ops`: the operators, what each takes, and the schedules written for it."""

from __future__ import annotations

import difflib
from dataclasses import fields
from inspect import cleandoc
from typing import Any

from hidet import seams
from hidet.errors import BadArgument
from hidet.graph.operator import OPERATORS, operand_names
from hidet.schedules.base import SCHEDULES
from hidet.schedules.load import LOADED

assert LOADED, "importing hidet.schedules.load files every schedule"


def operators(name: str | None) -> int:
    """Print the first line of every operator, or all about one of them."""
    seams.call("load_operators")
    if name is None:
        width = max(map(len, OPERATORS))
        for each, kind in sorted(OPERATORS.items()):
            print(f"{each:{width}}  {cleandoc(kind.__doc__ or '').splitlines()[0]}")
        return 0
    if name not in OPERATORS:
        near = difflib.get_close_matches(name, OPERATORS, n=1)
        hint = f"did you mean {near[0]}?" if near else "`hidet ops` lists all operators"
        raise BadArgument(f"there is no operator {name!r}", help=hint)
    show(OPERATORS[name])
    return 0


def show(kind: Any) -> None:
    """Print what an operator takes, and its schedules."""
    print(f"{kind.name}\n\n{cleandoc(kind.__doc__ or '')}\n")
    operands = operand_names(kind)
    others = [each.name for each in fields(kind) if each.name not in operands]
    print(f"operands    {', '.join(operands) or 'none'}")
    print(f"attributes  {', '.join(others) or 'none'}")
    found = [each for each in SCHEDULES if issubclass(kind, each.ops)]
    named = [f"{each.name} ({each.target})" for each in found]
    print(f"schedules   {', '.join([*named, 'automatic (cpu, cuda)'])}")
