"""Norms between products lose their kernels: one product hands on moments, the next one norms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hidet import ops, options
from hidet.compute.sizes import same
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.rewrite import replace
from hidet.graph.tensor import Node, Tensor
from hidet.ops.handed_norm import RUN
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
    if not options.fusion.get():
        return graph
    while handed := next(norms(graph, suits), None):
        graph = replace(graph, handed)
    return graph


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
class Surroundings:
    """What is known of a graph."""

    constants: Constants
    readers: Readers


def norms(graph: FlowGraph, suits: Suits) -> Iterator[dict[Tensor, Tensor]]:
    """For each norm that needs no kernel, what its rows and the products of it become."""
    known = Surroundings(Constants(graph), Readers(graph))
    for node in graph.nodes:
        if is_norm(node, known):
            source, takers = source_of(node.inputs[0], known), takers_of(node.outputs[0], known)
            handed = source and takers and handed_over(node, source, takers, suits)
            if handed:
                yield handed


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
            found.append(taker(reader, known))
        else:
            return None
    return found


def taker(product: Node, known: Surroundings) -> Taker:
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


def handed_over(
    norm: Node, source: Source, takers: list[Taker], suits: Suits
) -> dict[Tensor, Tensor] | None:
    """What the rows and the products of a norm become, if that suits all of them."""
    product, rows = source.product, norm.inputs[0]
    with tracing(), placed(product.place):
        residual = ops.reshape(source.residual, product.outputs[0].shape)
        made, moments = ops.linear_moments(
            product.inputs[0],
            product.inputs[1],
            residual,
            source.bias,
            transpose_b=is_transposed(product),
        )
        found = {rows: ops.reshape(made, rows.shape)}
    for each in takers:
        with tracing(), placed(each.product.place):
            found[each.result] = normed(norm, each, made, moments)
    pairs = [(made, product), *((found[each.result], each.product) for each in takers)]
    if not all(suits(new.trace[0].op, old.op) for new, old in pairs if new.trace):
        return None
    return found


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
