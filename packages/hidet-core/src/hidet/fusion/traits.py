"""What a definition tells fusion beside its kind: what an element costs, and where it goes."""

from __future__ import annotations

from functools import lru_cache

from hidet.compute import ArgReduce, At, Computed, Input, Scatter
from hidet.compute.classify import inputs as read_inputs
from hidet.compute.sizes import same
from hidet.fusion.moves import landing
from hidet.graph.operator import Op
from hidet.ir.expr import (
    Cast,
    Equal,
    Expr,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Math,
    NotEqual,
    TruncDiv,
    TruncMod,
)
from hidet.ir.node import Node
from hidet.ir.walk import contains, find, postorder
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.tensors.pad import Pad
from hidet.optimize.layout.even_forms import EVEN_BYTES, LINE_BYTES, is_odd
from hidet.schedules.attention import SMALL_M

TESTS = frozenset({"floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit"})
"""Functions of floats that jump."""


@lru_cache(maxsize=4096)
def cheap(op: Op) -> bool:
    """Whether computing an element again costs little: no functions such as exp or erf."""
    return not contains(op.definition().outputs, Math)


@lru_cache(maxsize=4096)
def decides(op: Op) -> bool:
    """Whether the last bit of an operand may change the result by more than that: a comparison, a
    number made whole, the place of the greatest."""
    return not op.continuous and any(map(jumps, postorder(op.definition().outputs)))


def jumps(node: Node) -> bool:
    """Whether a part of a definition gives one thing or another, as some float has it."""
    match node:
        case Less(a) | LessEqual(a) | Equal(a) | NotEqual(a):
            return a.dtype.is_float
        case FloorDiv(a) | FloorMod(a) | TruncDiv(a) | TruncMod(a):
            return a.dtype.is_float
        case Math(name):
            return name in TESTS
        case ArgReduce():
            return node.value.dtype.is_float
        case Cast(a):
            return a.dtype.is_float and not node.dtype.is_float
    return False


@lru_cache(maxsize=4096)
def moves_only(op: Op) -> bool:
    """Whether each element is one of the operand's, at an index that no operand decides."""
    outputs = op.definition().outputs if op.kind == "kernels" else ()
    if len(outputs) != 1 or not isinstance(outputs[0], Computed):
        return False
    match outputs[0].value:
        case At(grid=Input(), index=index):
            return not any(contains(e, At) for e in index if isinstance(e, Expr))
    return False


@lru_cache(maxsize=4096)
def picks(op: Op) -> bool:
    """Whether each element is one of the operand's, at an index decided by single numbers, if by
    any operand: a row of a tensor, whose number only the data tell."""
    outputs = op.definition().outputs if op.kind == "kernels" else ()
    if len(outputs) != 1 or not isinstance(outputs[0], Computed):
        return False
    value = outputs[0].value
    return isinstance(value, At) and isinstance(value.grid, Input) and not looks_up(op)


@lru_cache(maxsize=4096)
def looks_up(op: Op) -> bool:
    """Whether an operand's element is read at an index that many elements of another one decide."""
    outputs = op.definition().outputs if op.kind == "kernels" else ()
    index = [e for at in find(outputs, At) for e in at.index if isinstance(e, Expr)]
    return any(not same(size, 1) for each in find(index, At) for size in each.grid.shape)


@lru_cache(maxsize=4096)
def reads(op: Op, position: int) -> int:
    """How many elements of operand `position` one is made of; those of a loop count once."""
    definition = op.definition()
    operand = definition.inputs[position]
    return sum(each.grid is operand for each in find(definition.outputs, At))


@lru_cache(maxsize=4096)
def is_update(op: Op) -> bool:
    """Whether an operator puts elements into its first operand, where that lies."""
    outputs = op.definition().outputs if op.kind == "kernels" else ()
    return len(outputs) == 1 and isinstance(outputs[0], Scatter) and outputs[0].in_place


@lru_cache(maxsize=4096)
def read_by_all(op: Op, position: int) -> bool:
    """Whether every block of an operator's kernel reads operand `position`, or much of it.

    Rows of attention are spread over blocks, and all of them read the keys.
    """
    if not isinstance(op, Attention) or position not in (1, 2):
        return False
    rows = op.q.shape[-2]
    return not isinstance(rows, int) or rows > SMALL_M


def evens_rows(op: Op, reader: Op) -> bool:
    """Whether an operator pads rows of a matmul's operand so that they are whole 16 bytes or whole
    lines, as they had better be in memory: nothing is won where they are padded as they are read.
    """
    if not (isinstance(op, Pad) and isinstance(reader, Linear | Matmul)):
        return False
    made = op.infer()
    return any(is_odd(op.x, n) and not is_odd(made, n) for n in (EVEN_BYTES, LINE_BYTES))


@lru_cache(maxsize=4096)
def lands(op: Op, position: int) -> bool:
    """Whether each element of operand `position` goes to one known place of the result."""
    definition = op.definition()
    operand = definition.inputs[position]
    if operand not in read_inputs(*definition.outputs):
        return False
    found = landing(definition, operand)
    return found is not None and found.neighbours == 1
