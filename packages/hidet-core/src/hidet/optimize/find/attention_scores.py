"""The way back from a softmax to the product of queries and keys, and what is done on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hidet import ops
from hidet.compute import At, Computed, Input, inline
from hidet.compute.sizes import Shape, product, same, same_shape
from hidet.compute.steps import Step
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Cast, Expr, Math
from hidet.ops.elementwise.select import Where
from hidet.ops.products.matmul import Matmul
from hidet.ops.tensors.cast import Cast as CastOp
from hidet.ops.tensors.shape import Reshape
from hidet.optimize.normalize import maker, value_of
from hidet.types import Size, f32

NEVER = -1e4
"""What is added to a score, or put in its place, so that its weight is nothing."""
JUMPS = frozenset({"floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit"})
"""Functions whose result a rounding may change as a whole."""


@dataclass(frozen=True)
class Scores:
    """What the softmax reads: the product times `scale` and `factor`, and then plus `mask`."""

    shape: Shape
    """What `factor` and `mask` broadcast to: the one with most axes that the scores have."""
    scale: float = 1.0
    factor: Tensor | None = None
    """A number for each head, or for each query."""
    mask: Tensor | None = None
    steps: tuple[Step, ...] = ()
    """What is done to the product times `scale`, ahead of `mask`."""


def scores_of(tensor: Tensor, single: set[Tensor]) -> tuple[Node, Scores] | None:
    """The product behind scores, and what is done to it on the way.

    `single` are the tensors that one node alone reads.
    """
    known = Scores(tensor.shape)
    while (made := behind_casts(tensor, single)) is not None:
        if isinstance(made.op, Matmul):
            return made, known
        step = next(filter(None, (rule(made, known, single) for rule in RULES)), None)
        if step is None:
            return None
        tensor, known = step
    return None


def behind_casts(tensor: Tensor, single: set[Tensor]) -> Node | None:
    """What makes a tensor, apart from casts between floats that nobody else reads."""
    while (made := maker(tensor)) is not None and tensor in single:
        if not isinstance(made.op, CastOp) or not made.inputs[0].dtype.is_float:
            return made
        (tensor,) = made.inputs
    return None


Rule = Callable[[Node, Scores, set[Tensor]], "tuple[Tensor, Scores] | None"]


def viewed(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores whose batch, or heads, or queries are parted in another way."""
    if not keeps_rows(node):
        return None
    (source,) = node.inputs
    free = known.mask is None and known.factor is None
    more = source.ndim > len(known.shape) and same(source.shape[-2], known.shape[-2])
    return source, replace(known, shape=source.shape) if free and more else known


def keeps_rows(node: Node) -> bool:
    """Whether a node gives the same rows under another shape."""
    if not isinstance(node.op, Reshape):
        return False
    before, after = node.inputs[0].shape, node.outputs[0].shape
    return bool(before and after) and same(before[-1], after[-1]) is True


def scaled(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores times a number, or by one."""
    if node.op.name not in ("multiply", "divide"):
        return None
    left, right = node.inputs
    number = value_of(right)
    if number is not None and node.outputs[0].shape == left.shape:
        if node.op.name == "multiply":
            return left, replace(known, scale=known.scale * float(number))
        return (left, replace(known, scale=known.scale / float(number))) if number else None
    number = value_of(left)
    if number is not None and node.op.name == "multiply" and node.outputs[0].shape == right.shape:
        return right, replace(known, scale=known.scale * float(number))
    return None


def changed(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """A function of each score by itself, as a tangent that holds it within bounds.

    Masks come after it. Factors of heads or rows, which become part of q, come neither before nor
    after.
    """
    name = function_of(node.op)
    if name is None or known.factor is not None:
        return None
    steps = ((name, 0.0), ("multiply", known.scale), *known.steps)
    return node.inputs[0], replace(known, scale=1.0, steps=steps)


def function_of(op: Op) -> str | None:
    """The name of the function of one number that an operator is; None if it is none, or jumps."""
    outputs = inline(op.definition()).outputs if op.kind == "kernels" else ()
    whole = outputs[0] if len(outputs) == 1 else None
    if not isinstance(whole, Computed):
        return None
    match uncast(whole.value):
        case Math(name, (value,)) if name not in JUMPS:
            read = uncast(value)
            if isinstance(read, At) and isinstance(read.grid, Input) and read.index == whole.vars:
                return name
    return None


def uncast(e: Expr) -> Expr:
    """A value before it is rounded to another float."""
    while isinstance(e, Cast) and e.value.dtype.is_float and e.dtype.is_float:
        e = e.value
    return e


def weighted(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores times a tensor that has one number for all keys: a temperature of each head."""
    if node.op.name not in ("multiply", "divide") or known.steps:
        return None
    for scores, factor in (node.inputs, node.inputs[::-1]):
        if not whole(scores, node, single) or not factor.dtype.is_float:
            continue
        if factor.shape and not same(factor.shape[-1], 1):
            continue
        found = parted(factor, node.outputs[0].shape, known.shape)
        if node.op.name == "divide":
            if factor is not node.inputs[1]:
                return None
            found = None if found is None else ops.reciprocal(found)
        if found is not None:
            known = replace(known, factor=found if known.factor is None else known.factor * found)
            return scores, known
    return None


def masked(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores plus a mask, which what comes after scales as well."""
    if node.op.name != "add" or known.steps:
        return None
    for scores, mask in (node.inputs, node.inputs[::-1]):
        if whole(scores, node, single) and mask.dtype.is_float:
            if value_of(mask) == 0:
                return scores, known
            found = parted(mask, node.outputs[0].shape, known.shape)
            return None if found is None else (scores, with_mask(known, found))
    return None


def with_mask(known: Scores, mask: Tensor) -> Scores:
    """What is known, and a mask that is added ahead of it."""
    if known.scale != 1.0:
        mask = mask * known.scale
    if known.factor is not None:
        mask = mask * known.factor
    return replace(known, mask=both(known.mask, mask))


def both(first: Tensor | None, second: Tensor) -> Tensor:
    """A mask that says what two of them say: true where scores are kept, or added to them."""
    if first is None:
        return second
    if first.dtype.is_bool and second.dtype.is_bool:
        return ops.logical_and(first, second)
    if second.dtype.is_bool:
        first, second = second, first
    if first.dtype.is_bool:
        return ops.where(first, second, ops.full((), float("-inf"), f32, device=first.device))
    return ops.add(first, second)


def chosen(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores where a mask holds (or does not), and a very low number elsewhere."""
    if not isinstance(node.op, Where) or known.factor is not None or known.steps:
        return None
    condition, x, y = node.inputs
    low = value_of(y) if value_of(y) is not None else value_of(x)
    scores = x if value_of(y) is not None else y
    if low is None or not low * known.scale <= NEVER:  # -inf times 0 is no number
        return None
    kept = parted(condition, node.outputs[0].shape, known.shape)
    if kept is None or not same_shape(scores.shape, node.outputs[0].shape):
        return None
    if low == float("-inf"):
        mask = kept if scores is x else ops.logical_not(kept)
        return scores, replace(known, mask=both(known.mask, mask))
    zero = ops.full((), 0.0, f32, device=condition.device)
    far = ops.full((), float(low), f32, device=condition.device)
    pair = (zero, far) if scores is x else (far, zero)
    return scores, with_mask(known, ops.where(kept, *pair))


RULES: tuple[Rule, ...] = (viewed, scaled, changed, weighted, masked, chosen)


def whole(scores: Tensor, node: Node, single: set[Tensor]) -> bool:
    """Whether the product lies behind this operand of a node, which does not enlarge it."""
    if scores not in single or not same_shape(scores.shape, node.outputs[0].shape):
        return False
    return scores_of(scores, single) is not None


def parted(x: Tensor, shape: Shape, other: Shape) -> Tensor | None:
    """What broadcasts to `other` as `x` does to `shape`, where both are the same scores; None if
    that takes more than another shape of `x`."""
    if same_shape(shape, other) or not x.shape:
        return x
    own = (*(1 for _ in shape[x.ndim :]), *x.shape)
    sizes: list[Size] = []
    at = 0
    for run, into in runs(shape[:-1], other[:-1]):
        part = own[at : at + len(run)]
        at += len(run)
        if all(same(size, 1) for size in part):
            sizes += (1 for _ in into)
        elif same_shape(part, run):
            sizes += into
        else:
            return None
    return ops.reshape(x, (*sizes, own[-1]))


def runs(shape: Shape, other: Shape) -> Iterator[tuple[Shape, Shape]]:
    """Axes of two shapes that hold as much, as few of them at a time as can be."""
    i = j = 0
    for end in range(1, len(shape) + 1):
        ends = (e for e in range(j + 1, len(other) + 1) if alike(shape[i:end], other[j:e]))
        found = next(ends, None)
        if found is not None:
            last = end == len(shape) or all(same(size, 1) for size in shape[end:])
            last = last or found == len(other)
            yield (shape[i:], other[j:]) if last else (shape[i:end], other[j:found])
            if last:
                return
            i, j = end, found


def alike(shape: Shape, other: Shape) -> bool:
    """Whether two shapes hold as many elements, for certain."""
    return same(product(shape), product(other)) is True
