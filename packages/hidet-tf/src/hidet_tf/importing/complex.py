"""Complex numbers stay in the graph where everything that they go through is converted."""

from __future__ import annotations

from collections.abc import Container, Iterator

import tensorflow as tf

from hidet.errors import NotYet
from hidet_tf.converters.complex import COMPLEX


def is_complex(op: tf.Operation) -> bool:
    """Whether an operator takes or gives complex numbers."""
    return any(each.dtype.is_complex for each in (*op.inputs, *op.outputs))


def require_pairs(op: tf.Operation, table: Container[str]) -> None:
    """Raise NotYet unless all operators that complex numbers connect with this one are converted,
    and none of these numbers is what the function takes or gives: only then are they pairs."""
    met, waiting = {op}, [op]
    while waiting:
        now = waiting.pop()
        if now.type != "Const" and COMPLEX + now.type not in table:
            raise NotYet(f"complex numbers that {now.type} takes or gives")
        near = {*connected(now)} - met
        met |= near
        waiting += near


def are_pairs(op: tf.Operation, table: Container[str]) -> bool:
    """Whether complex numbers of an operator, if it has any, stay in the graph."""
    try:
        if is_complex(op):
            require_pairs(op, table)
    except NotYet:
        return False
    return True


def connected(op: tf.Operation) -> Iterator[tf.Operation]:
    """The operators that complex numbers lead to or come from."""
    for each in op.inputs:
        if each.dtype.is_complex:
            yield each.op
    for each in op.outputs:
        if each.dtype.is_complex:
            if any(each is result for result in op.graph.outputs):
                raise NotYet("complex numbers among the results")
            yield from each.consumers()
