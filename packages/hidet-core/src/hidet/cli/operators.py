"""`hidet ops`: the operators, what each takes, and the schedules written for it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hidet import seams
from hidet.cli.lookup import chosen, listed, meaning
from hidet.graph.operator import OPERATORS, operand_names
from hidet.schedules.base import SCHEDULES
from hidet.schedules.load import LOADED

assert LOADED, "importing hidet.schedules.load files every schedule"


def operators(name: str | None) -> int:
    """Print the first line of every operator, or all about one of them."""
    seams.call("load_operators")
    if name is None:
        print(listed(OPERATORS))
        return 0
    show(chosen(name, OPERATORS, "operator", "hidet ops"))
    return 0


def show(kind: Any) -> None:
    """Print what an operator takes, and its schedules."""
    print(f"{kind.name}\n\n{meaning(kind)}\n")
    operands = operand_names(kind)
    others = [each.name for each in fields(kind) if each.name not in operands]
    print(f"operands    {', '.join(operands) or 'none'}")
    print(f"attributes  {', '.join(others) or 'none'}")
    found = [each for each in SCHEDULES if issubclass(kind, each.ops)]
    named = [f"{each.name} ({each.target})" for each in found]
    print(f"schedules   {', '.join([*named, 'automatic (cpu, cuda)'])}")
