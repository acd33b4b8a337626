"""Whether an operator takes what a node gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import Any

from onnx import NodeProto, defs

from hidet_onnx.importing.place import title


@dataclass(frozen=True)
class Accepted:
    """The names of an operator's attributes, and how many operands it takes."""

    attributes: frozenset[str]
    required: frozenset[str]
    least: int
    most: float
    positional: frozenset[str] = frozenset()
    """The parameters of a converter that are operands, because no `*` stands before them."""

    def objection(self, node: NodeProto) -> str:
        """What is wrong with a node; empty if nothing is."""
        given = {each.name for each in node.attribute}
        operands = [bool(name) for name in node.input]
        count = len(operands) - operands[::-1].index(True) if any(operands) else 0
        if unknown := given - self.attributes:
            known = f"it has {listed(self.attributes)}" if self.attributes else "it has none"
            message = f"{title(node)} has no attribute {listed(unknown)}: {known}"
            if by_position := unknown & self.positional:
                message += f"; its converter takes {listed(by_position)} as an operand: "
                message += "put `*` before the parameters that are attributes"
            return message
        if missing := self.required - given:
            return f"{title(node)} needs the attribute {listed(missing)}"
        if count < self.least:
            return f"{title(node)} takes {self.least} operands or more, not {count}"
        if count > self.most:
            return f"{title(node)} takes at most {self.most:g} operands, not {count}"
        return ""


def listed(names: frozenset[str] | set[str]) -> str:
    """Names as a sentence has them."""
    return ", ".join(map(repr, sorted(names)))


@cache
def by_schema(operator: str, version: int, domain: str) -> Accepted | None:
    """What ONNX's schema of an operator says; None if there is none of that version."""
    try:
        schema = defs.get_schema(operator, version, domain)
    except defs.SchemaError:
        return None
    required = frozenset(name for name, each in schema.attributes.items() if each.required)
    return Accepted(frozenset(schema.attributes), required, schema.min_input, schema.max_input)


@cache
def by_signature(convert: Callable[..., Any]) -> Accepted:
    """The keyword parameters of a converter, and how many others it has."""
    parameters = signature(convert).parameters.values()
    named = [each for each in parameters if each.kind is Parameter.KEYWORD_ONLY]
    others = [each for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    required = frozenset(each.name for each in named if each.default is Parameter.empty)
    is_variadic = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)
    return Accepted(
        frozenset(each.name for each in named),
        required,
        sum(each.default is Parameter.empty for each in others),
        float("inf") if is_variadic else len(others),
        frozenset(each.name for each in others),
    )
