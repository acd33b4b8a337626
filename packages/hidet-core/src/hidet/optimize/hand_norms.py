"""Norms between products lose their kernels: one product hands on moments, the next one norms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hidet import ops, options
from hidet.compute.sizes import same
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.handed_norm import RUN, LinearMoments, NormedLinear
from hidet.ops.matmul import Linear, Matmul
from hidet.ops.norm import LayerNorm
from hidet.ops.shape import Reshape
from hidet.optimize.constants import Constants, Readers
from hidet.types import f32

Suits = Callable[[Op, Op], bool]
"""Whether an operator of `handed_norm` is computed as the product that it stands for would be."""


def hand_norms(graph: FlowGraph, suits: Suits = lambda op, product: False) -> FlowGraph:
    """Spare norms between products a kernel of their own.

    before   h = linear(x, a) + r;  y = linear(layer_norm(h, weight), b)
    after    h, moments = linear_moments(x, a, r);  y = normed_linear(h, b * weight, moments)

    The new weights are computed once, before the first call, in float32, and rounded to their type;
    nobody else may read the old ones, which would stay beside them.
    """
    handings = list(norms(graph, suits)) if options.fusion.get() else []
    makers = {each.norm.inputs[0]: each for each in handings}
    readers = {taker.result: (each, taker) for each in handings for taker in each.takers}
    now: dict[Tensor, Tensor] = {}
    made: dict[Node, tuple[Tensor, Tensor]] = {}

    def change(original: Node, node: Node) -> tuple[Tensor, ...] | None:
        result = original.outputs[0]
        now.update(zip(original.inputs, node.inputs, strict=True))
        with tracing(), placed(node.place):
            if result in makers:
                handing = makers[result]
                made[handing.norm] = moments_of(handing.source, now)
                return (ops.reshape(made[handing.norm][0], result.shape),)
            if result in readers:
                handing, taker = readers[result]
                return (normed(handing.norm, taker, *made[handing.norm]),)
        return None

    return rewrite_from(graph, change)


@dataclass(frozen=True)
class Source:
    """What makes the rows of a norm: a product with a bias, and a residual."""

    product: Node
    bias: Tensor | None
    residual: Tensor


@dataclass(frozen=True)
class Taker:
    """A product of normed rows, and what it gives with all that is added to its columns."""

    product: Node
    result: Tensor
    biases: list[Tensor]


@dataclass(frozen=True)
class Handing:
    """A norm between products."""

    norm: Node
    source: Source
    takers: list[Taker]

    @property
    def products(self) -> set[Node]:
        """The products around it."""
        return {self.source.product, *(each.product for each in self.takers)}


@dataclass(frozen=True)
class Surroundings:
    """What is known of a graph."""

    constants: Constants
    readers: Readers


def norms(graph: FlowGraph, suits: Suits) -> Iterator[Handing]:
    """Norms that need no kernel; a product of one norm does not make the rows of another."""
    known = Surroundings(Constants(graph), Readers(graph))
    taken: set[Node] = set()
    for node in graph.nodes:
        if not is_norm(node, known):
            continue
        source, takers = source_of(node.inputs[0], known), takers_of(node.outputs[0], known)
        if source is None or not takers:
            continue
        found = Handing(node, source, takers)
        if not found.products & taken and suits_all(found, suits):
            taken |= found.products
            yield found


def is_norm(node: Node, known: Surroundings) -> bool:
    """Whether a node norms rows that consist of runs, and its factors are known."""
    op = node.op
    if not isinstance(op, LayerNorm) or op.axes != (op.x.ndim - 1,):
        return False
    width = op.x.shape[-1]
    whole = isinstance(width, int) and width % RUN == 0
    return whole and all(each in known.constants for each in node.inputs[1:])


def source_of(rows: Tensor, known: Surroundings) -> Source | None:
    """What makes rows, if that is a product with a residual."""
    if rows.trace is None or rows.trace[0].op.name != "add":
        return None
    add = rows.trace[0]
    if any(each.type != rows.type for each in add.inputs):
        return None
    for made, residual in (add.inputs, add.inputs[::-1]):
        found = product_behind(made, add, known)
        if found is not None and residual not in known.constants:
            return Source(*found, residual)
    return None


def product_behind(
    made: Tensor, reader: Node, known: Surroundings
) -> tuple[Node, Tensor | None] | None:
    """The product that gives a tensor which one node reads, and the bias that is added to it."""
    bias = None
    while known.readers.only(made) is reader and made.trace is not None:
        reader = made.trace[0]
        match reader.op:
            case Reshape() if keeps_columns(reader):
                made = reader.inputs[0]
            case op if op.name == "add" and bias is None:
                found = biased(reader, known)
                if found is None:
                    return None
                made, bias = found
            case Linear() if bias is None and is_plain(reader, known):
                return reader, reader.inputs[2] if len(reader.inputs) > 2 else None
            case Linear() | Matmul() if len(reader.inputs) == 2 and is_plain(reader, known):
                return reader, bias
            case _:
                return None
    return None


def biased(add: Node, known: Surroundings) -> tuple[Tensor, Tensor] | None:
    """The tensor to which a node adds a known vector along its columns, and that."""
    for made, bias in (add.inputs, add.inputs[::-1]):
        if bias in known.constants and bias.type == made.type.with_(shape=made.shape[-1:]):
            return made, bias
    return None


def takers_of(normed: Tensor, known: Surroundings) -> list[Taker] | None:
    """The products that read normed rows, if nothing else does, and nobody else their weights."""
    found: list[Taker] = []
    readers = known.readers.of(normed)
    for reader in readers:
        if isinstance(reader.op, Reshape) and keeps_columns(reader):
            behind = takers_of(reader.outputs[0], known)
            if not behind:
                return None
            found += behind
        elif isinstance(reader.op, Linear | Matmul) and reader.inputs[0] is normed:
            if not is_plain(reader, known) or known.readers.only(reader.inputs[1]) is not reader:
                return None
            found.append(with_biases(reader, known))
        else:
            return None
    return found


def with_biases(product: Node, known: Surroundings) -> Taker:
    """A product with all biases that are known."""
    biases, (result,) = list(product.inputs[2:]), product.outputs
    after = known.readers.only(result)
    if after is not None and after.op.name == "add":
        found = biased(after, known)
        if found is not None and found[0] is result:
            biases.append(found[1])
            (result,) = after.outputs
    return Taker(product, result, biases)


def keeps_columns(reshape: Node) -> bool:
    """Whether a new shape has the same last axis."""
    before, after = reshape.inputs[0].shape, reshape.outputs[0].shape
    return len(before) > 1 and len(after) > 1 and same(before[-1], after[-1]) is True


def is_plain(node: Node, known: Surroundings) -> bool:
    """Whether a product is one of rows with a weight that is known, and all has one type."""
    op = node.op
    if isinstance(op, Matmul) and (op.transpose_a or op.b.ndim != 2):
        return False
    types = {each.dtype for each in (*node.inputs, *node.outputs)}
    return len(types) == 1 and all(each in known.constants for each in node.inputs[1:])


def suits_all(handing: Handing, suits: Suits) -> bool:
    """Whether the products around a norm stay what they are with it in them."""
    product, bias = handing.source.product, handing.source.bias
    x, weight, *_ = product.op.types()
    shift = None if bias is None else bias.type
    first = LinearMoments(x, weight, shift, product.outputs[0].type, is_transposed(product))
    _, moments = first.infer()
    if not suits(first, product.op):
        return False
    for each in handing.takers:
        x, weight, *_ = each.product.op.types()
        vector = f32[each.result.shape[-1:]]
        found = moments.with_(shape=(*x.shape[:-1], *moments.shape[-2:]))
        across = is_transposed(each.product)
        if not suits(NormedLinear(x, weight, found, vector, vector, across, 0.0), each.product.op):
            return False
    return True


def moments_of(source: Source, now: Mapping[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The rows of a norm, in the shape of the product that makes them, and their moments."""
    product = source.product
    residual = ops.reshape(now[source.residual], product.outputs[0].shape)
    x, weight = (now[each] for each in product.inputs[:2])
    return ops.linear_moments(x, weight, residual, source.bias, transpose_b=is_transposed(product))


def normed(norm: Node, reader: Taker, rows: Tensor, moments: Tensor) -> Tensor:
    """A product of normed rows, with the norm's factors in its weight and bias."""
    op = norm.op
    assert isinstance(op, LayerNorm)
    _, factor, shift = op.arrange(norm.inputs)
    x, weight = reader.product.inputs[:2]
    across = is_transposed(reader.product)
    along = 1 if across else 0

    def beside(vector: Tensor) -> Tensor:
        """A vector along k, to be multiplied with the weight."""
        return ops.cast(vector, f32) if across else ops.unsqueeze(ops.cast(vector, f32), 1)

    wide = ops.cast(weight, f32)
    scaled = weight
    if factor is not None:
        scaled = ops.cast(wide * beside(factor), weight.dtype)
    summands = [ops.cast(each, f32) for each in reader.biases]
    if shift is not None:
        summands.append(ops.sum(wide * beside(shift), [along]))
    bias = sum(summands[1:], summands[0]) if summands else None
    outer = x.shape[:-1]
    return ops.normed_linear(
        ops.reshape(rows, x.shape),
        scaled,
        ops.reshape(moments, (*outer, *moments.shape[-2:])),
        ops.sum(ops.cast(scaled, f32), [along]),
        bias,
        transpose_b=across,
        eps=op.eps,
    )


def is_transposed(product: Node) -> bool:
    """Whether a product's weight is [n, k]."""
    op = product.op
    return isinstance(op, Linear) or (isinstance(op, Matmul) and bool(op.transpose_b))
