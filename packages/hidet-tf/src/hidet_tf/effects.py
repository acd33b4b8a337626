"""What calls do to variables: results are assigned to them once everything is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from hidet.errors import BadArgument
from hidet_tf.variables import Variable


def assigning(variables: Sequence[Variable]) -> Callable[[list[Any]], list[Any]]:
    """What gives the last of the flat results to these variables, and the others back."""
    handles = [(each.handle, each.dtype) for each in variables]
    if not handles:
        return lambda results: results

    def assign(results: list[Any]) -> list[Any]:
        kept = len(results) - len(handles)
        for (handle, dtype), value in zip(handles, results[kept:], strict=True):
            tensor = value if tf.is_tensor(value) else tf.constant(value, dtype)
            tf.raw_ops.AssignVariableOp(resource=handle, value=tensor)
        return results[:kept]

    return assign


def require_no_effects(variables: Sequence[Variable]) -> None:
    """Raise BadArgument if a model assigns to variables, which no file has."""
    if variables:
        names = ", ".join(each.name for each in variables)
        raise BadArgument(
            f"the model assigns to {names} at each call, and a file has no variables",
            help="give what it assigns as results, and take it as arguments",
        )
