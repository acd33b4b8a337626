"""Whether a converter takes what a node gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, signature
from typing import Any

from hidet.errors import BadArgument


@cache
def parameters(convert: Callable[..., Any]) -> tuple[frozenset[str], int, float]:
    """The names of a converter's keyword parameters, and how many operands it takes: at least, at
    most."""
    named, least, most = set(), 0, 0.0
    for each in signature(convert).parameters.values():
        if each.kind is Parameter.VAR_POSITIONAL:
            most = float("inf")
        elif each.kind is Parameter.KEYWORD_ONLY:
            named.add(each.name)
        elif each.kind is not Parameter.VAR_KEYWORD:
            most += 1
            least += each.default is Parameter.empty
    return frozenset(named), least, most


def require_accepted(
    convert: Callable[..., Any], operator: str, given: Sequence[Any], named: dict[str, Any]
) -> None:
    """Raise BadArgument for an attribute that nobody takes, or a wrong number of operands."""
    known, least, most = parameters(convert)
    unknown = sorted(named.keys() - known)
    if unknown:
        raise BadArgument(
            f"{operator} has no attribute {', '.join(map(repr, unknown))}",
            help=f"it has {', '.join(sorted(known))}" if known else "it has no attributes",
        )
    if not least <= len(given) <= most:
        raise BadArgument(
            f"{operator} takes {least} operands or more, not {len(given)}"
            if len(given) < least
            else f"{operator} takes at most {most:g} operands, not {len(given)}"
        )
