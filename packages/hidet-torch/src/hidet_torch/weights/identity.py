"""A guard of Dynamo's: what was captured is called again only with the very same object."""

from __future__ import annotations

from functools import wraps
from typing import Any

from torch._dynamo import guards
from torch._dynamo.guards import GuardBuilder
from torch._guards import Guard


@wraps(GuardBuilder.ID_MATCH)
def same_object(builder: GuardBuilder, guard: Guard) -> None:
    """`GuardBuilder.ID_MATCH`, whose message names the object's type instead of its contents.

    PyTorch 2.11 and 2.12 put `repr` of the object into the message. That of a weight on a GPU takes
    milliseconds, and a network has hundreds: a second of each first call.
    """
    names = vars(guards)  # where the guard's code looks for `repr` before it takes Python's
    names["repr"] = type_name
    try:
        GuardBuilder.ID_MATCH(builder, guard)
    finally:
        del names["repr"]


def type_name(value: Any) -> str:
    """What messages say of an object."""
    return f"<{type(value).__name__}>"
