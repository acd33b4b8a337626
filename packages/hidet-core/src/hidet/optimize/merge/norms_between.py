"""Which norms lie between products: what makes their rows, and who reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

from hidet.compute.sizes import same
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.reductions.norm import LayerNorm
from hidet.ops.reductions.partial_statistics import RUN, LinearMoments, NormedLinear
from hidet.ops.tensors.shape import Reshape
from hidet.optimize.constants import Constants, Readers
from hidet.types import f32

Suits = Callable[[Op, Op], bool]
"""Whether an operator of `partial_statistics` is computed as the matmul that it stands for is."""


@dataclass(frozen=True)
class Source:
    """What makes rows: a product with a bias, and a residual."""

    result: Tensor
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
class Between:
    """A norm between products; normed rows may be the residual of others, which make rows."""

    norm: Node
    source: Source
    takers: list[Taker]
    others: list[Source]
    scaled: bool
    """Whether rows are written times the gain, beside weights that stay as they are."""

    @property
    def sources(self) -> list[Source]:
        """All that makes rows."""
        return [self.source, *self.others]

    @property
    def op(self) -> LayerNorm:
        """What the norm does."""
        assert isinstance(self.norm.op, LayerNorm)
        return self.norm.op

    @property
    def gain(self) -> Tensor | None:
        """What normed columns are multiplied with."""
        return cast("Tensor | None", self.op.arrange(self.norm.inputs)[1])

    @property
    def shift(self) -> Tensor | None:
        """What is added to them then."""
        return cast("Tensor | None", self.op.arrange(self.norm.inputs)[2])

    @property
    def eps(self) -> float:
        """What is added to variances."""
        return self.op.eps


@dataclass(frozen=True)
class Surroundings:
    """What is known of a graph."""

    constants: Constants
    readers: Readers


def norms_between(graph: FlowGraph, suits: Suits) -> Iterator[Between]:
    """Norms that need no kernel: each of other rows. A product that norms rows makes none for
    another norm."""
    known = Surroundings(Constants(graph), Readers(graph))
    making: set[Node] = set()
    taking: set[Node] = set()
    given: set[Tensor] = set()
    for node in graph.nodes:
        found = between(node, known) if is_norm(node, known) else None
        if found is None or found.source.result in given:
            continue
        makers = making | {each.product for each in found.sources}
        takers = taking | {each.product for each in found.takers}
        if not makers & takers and suits_all(found, suits):
            making, taking = makers, takers
            given.add(found.source.result)
            yield found


def between(norm: Node, known: Surroundings) -> Between | None:
    """A norm with what makes its rows and who reads them, if those are products."""
    source = source_of(unshaped(norm.inputs[0]), known)
    takers, others = list[Taker](), list[Source]()
    if source is None or not read_by_products(norm.outputs[0], known, takers, others) or not takers:
        return None
    return Between(norm, source, takers, others, bool(others) or not own(takers, known))


def own(takers: list[Taker], known: Surroundings) -> bool:
    """Whether nobody else reads the weights of products, so that copies take their place."""
    products = [each.product for each in takers]
    return all(known.readers.only(each.inputs[1]) is each for each in products)


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
            return Source(rows, *found, residual)
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


def read_by_products(
    normed: Tensor, known: Surroundings, takers: list[Taker], others: list[Source]
) -> bool:
    """Whether all that reads normed rows are products, which are noted: of the rows, or with them
    as a residual."""
    readers = known.readers.of(normed)
    for reader in readers:
        if isinstance(reader.op, Reshape) and keeps_columns(reader):
            if not read_by_products(reader.outputs[0], known, takers, others):
                return False
        elif isinstance(reader.op, Linear | Matmul) and reader.inputs[0] is normed:
            if not is_plain(reader, known):
                return False
            takers.append(with_biases(reader, known))
        else:
            source = source_of(reader.outputs[0], known)
            if source is None or source.residual is not normed:
                return False
            others.append(source)
    return bool(readers)


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


def unshaped(rows: Tensor) -> Tensor:
    """The tensor that shapes with the same last axis were made of."""
    while rows.trace is not None and isinstance(rows.trace[0].op, Reshape):
        if not keeps_columns(rows.trace[0]):
            break
        (rows,) = rows.trace[0].inputs
    return rows


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


def suits_all(found: Between, suits: Suits) -> bool:
    """Whether the products around a norm stay what they are with it in them."""
    norm = found.norm
    return (
        suits(making(found.source, scaled=found.scaled), found.source.product.op)
        and all(suits(making(each, before=norm), each.product.op) for each in found.others)
        and all(suits(taking(each), each.product.op) for each in found.takers)
    )


def making(source: Source, before: Node | None = None, scaled: bool = False) -> LinearMoments:
    """What is to make rows: of a residual that a norm gave before; `scaled`: times a gain, too."""
    product, bias = source.product, source.bias
    x, weight, *_ = product.op.types()
    near, across = product.outputs[0].type, is_transposed(product)
    columns = near.with_(shape=near.shape[-1:])
    shift = None if bias is None else bias.type
    plain = LinearMoments(x, weight, shift, near, transpose_b=across)
    if scaled:
        plain = replace(plain, gain=columns)
    if before is None:
        return plain
    moments = plain.results()[1]
    return replace(
        plain, bias=columns.with_(dtype=f32), residual_moments=moments, residual_gain=columns
    )


def taking(taker: Taker) -> NormedLinear:
    """What is to norm the rows that a product reads."""
    x, weight, *_ = taker.product.op.types()
    moments = f32[*x.shape[:-1], x.shape[-1] // RUN, 2]
    vector = f32[taker.result.shape[-1:]]
    return NormedLinear(x, weight, moments, vector, vector, is_transposed(taker.product), 0.0)


def is_transposed(product: Node) -> bool:
    """Whether a product's weight is [n, k]."""
    op = product.op
    return isinstance(op, Linear) or (isinstance(op, Matmul) and bool(op.transpose_b))
