"""Attributes of operators as Python values, as converters take them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from typing import Any

import tensorflow as tf

from hidet.frontend.importing.complex_numbers import ComplexOf
from hidet.types import DType
from hidet_tf.dtypes import hidet_dtype
from hidet_tf.importing.walk import FuncGraph, function_graph


def attributes(
    op: tf.Operation, convert: Callable[..., Any], function: Callable[[FuncGraph], Any]
) -> dict[str, Any]:
    """Those attributes of an operator that its converter names; `function` makes of a graph what
    stands for it."""
    named = keywords(convert)
    kinds = {each.name: each.type for each in op.op_def.attr if each.name in named}
    found = {name: value(op, name, kind) for name, kind in kinds.items()}
    for name, kind in kinds.items():
        if kind == "func":
            found[name] = function(found[name])
        elif kind == "list(func)":
            found[name] = tuple(map(function, found[name]))
    return found


@cache
def keywords(convert: Callable[..., Any]) -> frozenset[str]:
    """The keyword parameters of a converter."""
    every = signature(convert).parameters.values()
    return frozenset(each.name for each in every if each.kind is Parameter.KEYWORD_ONLY)


def value(op: tf.Operation, name: str, kind: str) -> Any:
    """One attribute; `kind` is its type in the operator's definition."""
    given = op.get_attr(name)
    read = READERS.get(kind.removeprefix("list(").removesuffix(")"), lambda op, each: each)
    return tuple(read(op, each) for each in given) if kind.startswith("list(") else read(op, given)


def shape(op: tf.Operation, given: Any) -> tuple[int | None, ...] | None:
    """Sizes, None for one that is unknown; None where even the rank is."""
    found = tf.TensorShape(given)
    return None if found.rank is None else tuple(found.as_list())


def element(op: tf.Operation, given: Any) -> DType | ComplexOf | None:
    """An element type; None for one that the compiler lacks, which operands show."""
    own = tf.as_dtype(given)
    if own.is_complex:
        return ComplexOf(hidet_dtype(own.real_dtype))
    return hidet_dtype(own) if own not in OPAQUE else None


OPAQUE = (tf.resource, tf.variant, tf.string)

READERS: dict[str, Callable[[tf.Operation, Any], Any]] = {
    "string": lambda op, given: given.decode() if isinstance(given, bytes) else str(given),
    "type": element,
    "shape": shape,
    "tensor": lambda op, given: tf.make_ndarray(given),
    "func": lambda op, given: function_graph(op.graph, given.name),
}
"""What makes a Python value of an attribute, by its type."""
