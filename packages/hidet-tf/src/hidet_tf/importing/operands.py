"""Operands of an operator as its definition lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def grouped(op: tf.Operation, given: Sequence[Any]) -> list[Any]:
    """The values of an operator's operands: a list for one that takes several tensors."""
    found: list[Any] = []
    rest = iter(given)
    for each in op.op_def.input_arg:
        if each.number_attr:
            found.append([next(rest) for _ in range(op.get_attr(each.number_attr))])
        elif each.type_list_attr:
            found.append([next(rest) for _ in op.get_attr(each.type_list_attr)])
        else:
            found.append(next(rest))
    return found
