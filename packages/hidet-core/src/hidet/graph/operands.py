"""What is said where an operator gets something else than a tensor."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from hidet.errors import BadArgument
from hidet.graph.tensor import Tensor

DECLARED = ("Tensor", "Tensor | None")
"""How a parameter is annotated that takes nothing but a tensor. Those that take numbers or lists
as well are looked at by their own functions."""


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A public operator that looks at its tensors first, so that no mistake of a caller becomes an
    error about an attribute deep inside."""
    names = function.__code__.co_varnames
    wanted = [
        (names.index(name), name, "None" in kind)
        for name, kind in function.__annotations__.items()
        if name != "return" and kind in DECLARED
    ]
    if not wanted:
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for position, name, may_lack in wanted:
            if position < len(args):
                given = args[position]
            elif name in kwargs:
                given = kwargs[name]
            else:
                continue  # a default, or Python says that it is missing
            if not isinstance(given, Tensor) and not (may_lack and given is None):
                raise no_tensor(function.__name__, given, name)
        return function(*args, **kwargs)

    return call


def no_tensor(operator: str, given: Any, parameter: str = "") -> BadArgument:
    """The error of an operator that got no tensor, with the call that makes one of what it got."""
    wanted = f"a tensor as `{parameter}`" if parameter else "tensors"
    said = f"{operator} takes {wanted}, not {spelled_type(given)}"
    return BadArgument(said, help=conversion(given, parameter or "..."))


def spelled_type(given: Any) -> str:
    """The name of a value's type, behind its package's: PyTorch's is called Tensor as ours is."""
    package, own = package_of(given), type(given).__name__
    return own if package == "builtins" else f"{package}.{own}"


def conversion(given: Any, parameter: str) -> str | None:
    """What makes a tensor of a value that has numbers; a single one is rather an argument in the
    wrong place."""
    if package_of(given) == "torch" and hasattr(given, "__dlpack__"):
        return f"hidet.from_torch({parameter}) is a tensor in the same memory"
    has_numbers = isinstance(given, list | tuple) or any(
        hasattr(given, each) for each in ("__array__", "__dlpack__")
    )
    return f"hidet.asarray({parameter}) makes a tensor of it" if has_numbers else None


def package_of(given: Any) -> str:
    """The package that a value's type is of."""
    return type(given).__module__.partition(".")[0]
