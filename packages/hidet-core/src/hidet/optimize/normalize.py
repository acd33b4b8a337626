"""Operators that undo or repeat each other, or change nothing, leave the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import copysign

from hidet import ops
from hidet.compute.sizes import same, same_shape
from hidet.graph.apply import apply, placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.elementwise.families import Binary
from hidet.ops.indexing.in_place import updated_tensor
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.ops.products.matmul import Matmul
from hidet.ops.tensors.cast import Cast
from hidet.ops.tensors.create import Full
from hidet.ops.tensors.layout import taken_apart
from hidet.ops.tensors.pad import Pad
from hidet.ops.tensors.shape import Expand, Permute, Reshape
from hidet.ops.windows.conv import Conv
from hidet.types import DType
from hidet.types.narrow import NARROW, keeps_codes

Rule = Callable[[Node], "Tensor | None"]


def normalize(graph: FlowGraph) -> FlowGraph:
    """Bring a graph to fewer operators of the same meaning.

    before   y = permute(permute(x));  z = cast(cast(y, f32), f16);  w = z * 1
    after    w = permute(x)

    Only identities that hold bit by bit are used: x + 0 is not x where x is -0.
    """

    def change(node: Node) -> tuple[Tensor, ...] | None:
        with tracing(), placed(node.place):
            found = simplified(node)
        return None if found is None else (found,)

    return rewrite(graph, change)


def simplified(node: Node) -> Tensor | None:
    """What a node gives, by fewer operators; None if no rule applies."""
    for rule in RULES:
        found = rule(node)
        # What was updated in place lies in an input: a copy of it is not the same.
        if found is not None and updated_tensor(found) is None:
            return again(found)
    return None


def again(tensor: Tensor) -> Tensor:
    """A tensor that a rule gave, with the rules applied to it once more."""
    made = maker(tensor)
    found = None if made is None or len(made.outputs) != 1 else simplified(made)
    return tensor if found is None else found


def maker(tensor: Tensor) -> Node | None:
    """The node that computes a tensor, if it is not there already."""
    return None if tensor.trace is None or tensor.storage is not None else tensor.trace[0]


def joined_reshape(node: Node) -> Tensor | None:
    """One reshape for two; one to the same shape is a copy that somebody wants, and stays."""
    if copies(node):
        return None
    before = maker(node.inputs[0]) if isinstance(node.op, Reshape) else None
    if before is None or not isinstance(before.op, Reshape) or copies(before):
        return None
    (x,) = before.inputs
    return shaped(x, node.outputs[0])


def copies(node: Node) -> bool:
    """Whether a node is a copy: a reshape to the same shape."""
    return isinstance(node.op, Reshape) and same_shape(node.inputs[0].shape, node.op.shape)


def before_reshape(x: Tensor) -> Tensor:
    """The tensor that `x` is another shape of, or `x`."""
    made = maker(x)
    if made is None or not isinstance(made.op, Reshape):
        return x
    (source,) = made.inputs
    return source if updated_tensor(source) is None else x


def joined_permute(node: Node) -> Tensor | None:
    """One permute for two; none where each axis stays."""
    if not isinstance(node.op, Permute):
        return None
    (x,) = node.inputs
    if node.op.axes == tuple(range(x.ndim)):
        return x
    before = maker(x)
    if before is None or not isinstance(before.op, Permute):
        return None
    return ops.permute(before.inputs[0], [before.op.axes[axis] for axis in node.op.axes])


def shaped(x: Tensor, like: Tensor) -> Tensor:
    """A tensor in the shape of another one."""
    return x if x.type == like.type else ops.reshape(x, like.shape)


def kept_permute(node: Node) -> Tensor | None:
    """A reshape for a permute that only moves axes of size 1; ahead of one that moves others too,
    a reshape that adds such axes comes after it instead."""
    if not isinstance(node.op, Permute):
        return None
    (x,) = node.inputs
    order = [axis for axis in node.op.axes if not same(x.shape[axis], 1)]
    if order == sorted(order):
        return shaped(x, node.outputs[0])
    before = maker(x)
    if before is None or not isinstance(before.op, Reshape):
        return None
    (source,) = before.inputs
    wide = [axis for axis, size in enumerate(source.shape) if not same(size, 1)]
    narrow = [axis for axis, size in enumerate(x.shape) if not same(size, 1)]
    sizes = [source.shape[axis] for axis in wide], [x.shape[axis] for axis in narrow]
    if x.ndim <= source.ndim or not same_shape(*sizes) or updated_tensor(source) is not None:
        return None
    places = [wide[narrow.index(axis)] for axis in order]
    ones = [axis for axis in range(source.ndim) if axis not in wide]
    return ops.reshape(again(ops.permute(source, [*ones, *places])), node.outputs[0].shape)


def permuted_expand(node: Node) -> Tensor | None:
    """A tensor that is permuted and then expanded, for one that is expanded first."""
    before = maker(node.inputs[0]) if isinstance(node.op, Permute) else None
    if before is None or not isinstance(before.op, Expand):
        return None
    (x,) = before.inputs
    if x.ndim != node.inputs[0].ndim or updated_tensor(x) is not None:
        return None
    assert isinstance(node.op, Permute)
    return ops.expand(again(ops.permute(x, node.op.axes)), node.outputs[0].shape)


def permuted_pad(node: Node) -> Tensor | None:
    """A tensor that is permuted and then padded, for one that is padded first."""
    before = maker(node.inputs[0]) if isinstance(node.op, Permute) else None
    if before is None or not isinstance(before.op, Pad) or before.op.mode != "constant":
        return None
    (x,) = before.inputs
    if updated_tensor(x) is not None:
        return None
    assert isinstance(node.op, Permute)
    widths = [before.op.widths[axis] for axis in node.op.axes]
    return ops.pad(again(ops.permute(x, node.op.axes)), widths, value=before.op.value)


def joined_cast(node: Node) -> Tensor | None:
    """One cast for two, if the first one keeps every value; none to the same type."""
    if not isinstance(node.op, Cast):
        return None
    (x,) = node.inputs
    if x.dtype is node.op.dtype:
        return x
    before = maker(x)
    if before is None or not isinstance(before.op, Cast):
        return None
    source = before.inputs[0]
    return ops.cast(source, node.op.dtype) if holds(x.dtype, source.dtype) else None


def holds(wide: DType, narrow: DType) -> bool:
    """Whether each value of `narrow` is one of `wide`."""
    if narrow in NARROW and wide.is_float:
        return keeps_codes(wide, narrow)
    if wide.is_float and narrow.is_float:
        return wide.bits > narrow.bits
    if wide.is_integer and narrow.is_integer:
        low, high = wide.limits
        return low <= narrow.limits[0] and narrow.limits[1] <= high
    return False


def neutral(node: Node) -> Tensor | None:
    """The other operand, where one is a number that changes nothing, bit by bit."""
    if node.op.name not in ("multiply", "divide", "subtract", "add") or len(node.inputs) != 2:
        return None
    result = node.outputs[0].type
    for x, number in (node.inputs, node.inputs[::-1]):
        if x.type != result or (
            number is node.inputs[0] and node.op.name in ("divide", "subtract")
        ):
            continue
        if changes_nothing(node.op.name, value_of(number), x.dtype):
            return x
    return None


def value_of(tensor: Tensor) -> float | int | None:
    """The one value of a tensor that is made of a number."""
    made = maker(tensor)
    return made.op.value if made is not None and isinstance(made.op, Full) else None


def changes_nothing(name: str, value: float | int | None, of: DType) -> bool:
    """Whether an operator with this second operand gives its first one."""
    if value is None or of.is_bool:
        return False
    if name in ("multiply", "divide"):
        return value == 1
    if of.is_integer:
        return value == 0
    return name == "subtract" and value == 0 and copysign(1, value) > 0  # -0.0 - -0.0 is 0.0


def turned_operand(node: Node) -> Tensor | None:
    """A product that reads a matrix the other way round, for one of a transposed matrix."""
    op = node.op
    if isinstance(op, GroupedMatmul):
        return turned_matrices(node)
    if not isinstance(op, Matmul):
        return None
    a, b = node.inputs
    plain_a, plain_b = untransposed(a), untransposed(b)
    if plain_a is None and plain_b is None:
        return None
    return ops.matmul(
        a if plain_a is None else plain_a,
        b if plain_b is None else plain_b,
        transpose_a=op.transpose_a ^ (plain_a is not None),
        transpose_b=op.transpose_b ^ (plain_b is not None),
        dtype=op.dtype,
    )


def turned_matrices(node: Node) -> Tensor | None:
    """The same of the matrices of groups."""
    x, w, ends = node.inputs
    plain = untransposed(w)
    if plain is None:
        return None
    assert isinstance(node.op, GroupedMatmul)
    return ops.grouped_matmul(x, plain, ends, transpose_w=not node.op.transpose_w)


def untransposed(x: Tensor) -> Tensor | None:
    """The tensor of which `x` is the transpose of the last two axes, all others in place."""
    made = maker(x)
    if made is None or not isinstance(made.op, Permute):
        return None
    rank = x.ndim
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return made.inputs[0] if made.op.axes == swapped else None


def unexpanded(node: Node) -> Tensor | None:
    """A function of two elements that reads what was expanded for it: it broadcasts anyway."""
    op = node.op
    if not isinstance(op, Binary):
        return None
    x, y = (before_expand(each) for each in node.inputs)
    plain = replace(op, x=x.type, y=y.type)
    if plain == op or not same_shape(plain.infer().shape, node.outputs[0].shape):
        return None
    return Node(plain, (x, y), node.place, node.device).outputs[0]


def padded_conv(node: Node) -> Tensor | None:
    """A convolution that pads, for one of an image that was padded with zeros."""
    op = node.op
    if not isinstance(op, Conv):
        return None
    x, weight, bias = op.arrange(node.inputs)
    made = maker(x)
    if made is None or not isinstance(made.op, Pad) or updated_tensor(made.inputs[0]) is not None:
        return None
    images, channels, widths = taken_apart(op.channels_last, made.op.widths)
    if images != (0, 0) or channels != (0, 0) or not adds_zeros(made.op):
        return None
    sums = ((a + c, b + d) for (a, b), (c, d) in zip(op.padding, widths, strict=True))
    attributes = op.attributes() | {"padding": tuple(sums)}
    return apply(Conv, made.inputs[0], weight, bias, **attributes)


def adds_zeros(pad: Pad) -> bool:
    """Whether it puts known numbers of zeros around a tensor, and cuts nothing."""
    numbers = [each for pair in pad.widths for each in pair]
    is_known = all(isinstance(each, int) and each >= 0 for each in numbers)
    return pad.mode == "constant" and pad.value == 0 and is_known


def before_expand(x: Tensor) -> Tensor:
    """The tensor that `x` is an expanded form of, or `x`."""
    made = maker(x)
    return made.inputs[0] if made is not None and isinstance(made.op, Expand) else x


RULES: tuple[Rule, ...] = (
    joined_reshape,
    joined_permute,
    kept_permute,
    permuted_expand,
    permuted_pad,
    joined_cast,
    neutral,
    turned_operand,
    unexpanded,
    padded_conv,
)
