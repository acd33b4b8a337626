"""What is known of the elements of small tensors while a graph is made: numbers, and sizes.

Models compute shapes as tensors. Rules for operators follow the elements of such tensors through
the graph, so that `numbers(tensor)` gives them as sizes, symbols included. For an operator without
a rule its reference tells the result of plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from hidet import seams
from hidet.compute import sizes
from hidet.compute.sizes import equal, product, tidy
from hidet.errors import DtypeMismatch, HidetError, NeedsValue
from hidet.graph.evaluate import refer
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Expr
from hidet.ir.order import producers_first
from hidet.types import DType, Size, TensorType

Elements: TypeAlias = np.ndarray[Any, Any]
"""Of dtype object: an int, bool, float, symbolic size, or None (unknown) for each element."""

Rule: TypeAlias = Callable[[Any, list[Elements]], Any]
"""Gets the operator and its operands' elements; None means that nothing is known."""

MOST = 1024
"""Larger tensors are data, not shapes."""

RULES: dict[type[Op], Rule] = {}
R = TypeVar("R", bound=Rule)
_found: WeakKeyDictionary[Node, tuple[Elements | None, ...]] = WeakKeyDictionary()


def knows(*kinds: type[Op]) -> Callable[[R], R]:
    """Declare how the elements of the result follow from those of the operands."""

    def register(rule: R) -> R:
        RULES.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def known(tensor: Tensor) -> Elements | None:
    """The elements as far as they are known, None for one that is not.

    None for the whole where no element is known, the tensor has more than 1,024 elements, or its
    shape is symbolic. The array must not be written.
    """
    count = product(tensor.shape)
    if not isinstance(count, int) or count > MOST:
        return None
    if tensor.storage is not None:
        return objects(tensor.cpu().numpy(), tensor.type)
    if tensor.trace is None:
        return None
    for node in producers_first([tensor.trace[0]], unasked):
        if node not in _found:
            _found[node] = found(node)
    return _found[tensor.trace[0]][tensor.trace[1]]


def values(tensor: Tensor) -> tuple[Any, ...]:
    """The elements in row-major order; NeedsValue if one of them is not known."""
    elements = known(tensor)
    if elements is None and equal(tensor.size, 0):
        return ()
    if elements is None or any(each is None for each in elements.flat):
        raise needs_value(tensor)
    return tuple(elements.flat)


def numbers(tensor: Tensor) -> tuple[Size, ...]:
    """The elements of a tensor of integers as sizes, in row-major order.

    NeedsValue if one of them is not known, DtypeMismatch if they are no integers.
    """
    if not tensor.dtype.is_integer:
        raise DtypeMismatch(f"sizes and axes are integers, not {tensor.dtype.name}")
    return values(tensor)


_names_inputs: ContextVar[bool] = ContextVar("names_inputs", default=True)


@contextmanager
def without_asking() -> Iterator[None]:
    """In this block what is needed of inputs' values is not asked for: calls tell it, as they tell
    what is computed of data."""
    token = _names_inputs.set(False)
    try:
        yield
    finally:
        _names_inputs.reset(token)


def needs_value(tensor: Tensor) -> NeedsValue:
    """The error of a tensor whose elements are needed, with the inputs that would tell them."""
    inputs = (inputs_of(tensor) or ()) if _names_inputs.get() else ()
    names = " and ".join(repr(each.name) if each.name else str(each.type) for each in inputs)
    return NeedsValue(
        f"the elements of {names or repr(tensor)} are not known before a call",
        tensor=tensor,
        inputs=inputs,
        help="give the values when the model is compiled" if inputs else
        "a shape can be made of constants and of the sizes of inputs",
    )  # fmt: skip


def inputs_of(tensor: Tensor) -> tuple[Tensor, ...] | None:
    """The small inputs of the graph whose values would tell the tensor; None if others take part.

    An input is small if it has at most one axis, or at most 1,024 elements.
    """
    inputs: dict[Tensor, None] = {}
    for each in producers_first([tensor], gaps):
        if each.storage is None and each.trace is None:
            inputs[each] = None
        if not is_small(each) or (each.trace is not None and each.trace[0].op.kind == "framework"):
            return None
    return tuple(inputs)


def is_small(tensor: Tensor) -> bool:
    """Whether the values may be there to tell a shape: not what models compute with."""
    count = product(tensor.shape)
    return count <= MOST if isinstance(count, int) else tensor.ndim == 1


def gaps(tensor: Tensor) -> list[Tensor]:
    """The operands of what computes a tensor that are not wholly known."""
    operands = () if tensor.storage is not None or tensor.trace is None else tensor.trace[0].inputs
    return [each for each in operands if has_gaps(known(each))]


def has_gaps(elements: Elements | None) -> bool:
    """Whether an element is not known."""
    return elements is None or any(each is None for each in elements.flat)


def unasked(node: Node) -> list[Node]:
    """The nodes that compute small operands of a node that nothing was found out of yet."""
    if node in _found:
        return []
    traces = [each.trace for each in node.inputs if each.storage is None and is_small(each)]
    return [trace[0] for trace in traces if trace is not None]


# ---- one node ------------------------------------------------------------------------------------


def found(node: Node) -> tuple[Elements | None, ...]:
    """What is known of a node's results, whose operands were looked at before."""
    nothing = (None,) * len(node.outputs)
    if any(not isinstance(count := product(each.shape), int) or count > MOST
           for each in node.outputs):  # fmt: skip
        return nothing
    operands = [elements_of(each) for each in node.inputs]
    if any(each is None for each in operands):
        return nothing
    given = [each for each in operands if each is not None]
    try:
        results = tuple(outcome(node.op, given))
    except (HidetError, ArithmeticError, IndexError, ValueError):
        return nothing  # said where the operator is converted, or compiled
    return tuple(None if all(e is None for e in each.flat) and each.size else each
                 for each in results)  # fmt: skip


def elements_of(tensor: Tensor) -> Elements | None:
    """As `known`; gaps throughout for a small tensor of which nothing is known."""
    elements = known(tensor)
    if elements is None and isinstance(count := product(tensor.shape), int) and count <= MOST:
        return np.full(tensor.shape, None, object)
    return elements


def outcome(op: Op, given: list[Elements]) -> Iterator[Elements]:
    """The elements of an operator's results, as the rule has them, or else the reference."""
    seams.call("load_operators")  # with their rules
    types, rule = op.results(), RULES.get(type(op))
    if rule is not None:
        results = rule(op, given)
        yield from map(objects, results if isinstance(results, tuple) else (results,), types)
    elif op.kind != "framework" and not any(map(has_gaps_or_symbols, given)):
        arrays = [each.astype(of.dtype.numpy) for each, of in zip(given, op.types(), strict=True)]
        yield from map(objects, refer(op, arrays), types)
    else:
        yield from (objects(None, each) for each in types)


def has_gaps_or_symbols(elements: Elements) -> bool:
    """Whether an element is no plain number."""
    return any(each is None or isinstance(each, Expr) for each in elements.flat)


def objects(values: Any, of: TensorType) -> Elements:
    """Elements of a tensor of type `of`, from an array, one element, or None for nothing."""
    shape = sizes.numbers(of.shape)
    out: Elements = np.full(shape, None, object)
    given = values if isinstance(values, np.ndarray) else boxed(values)
    for place, each in enumerate(np.broadcast_to(given.astype(object), shape).flat):
        out.flat[place] = settled(each, of.dtype)
    return out


def boxed(value: Any) -> Elements:
    """One element as an array without axes."""
    out: Elements = np.full((), None, object)
    out[()] = value
    return out


def settled(value: Any, of: DType) -> Any:
    """An element as its type has it: sizes in their simplest form, what does not fit unknown."""
    if isinstance(value, Expr):
        return settled_size(value, of)
    if value is None or of.is_bool:
        return None if value is None else bool(value)
    if of.is_float:
        return float(np.asarray(value, of.numpy))
    low, high = of.limits
    return int(value) if low <= value <= high else None


def settled_size(value: Expr, of: DType) -> Any:
    """The same of a symbolic element."""
    if of.is_bool:
        is_zero = equal(value, 0)
        return None if is_zero is None else not is_zero
    if of.is_integer:
        return tidy(value) if value.dtype.is_integer else None
    return value if value.dtype is of else None
