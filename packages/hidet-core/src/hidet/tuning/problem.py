"""The problem that a group of operators solves: test values, and what has to come out."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from hidet.compute import Definition, Grid, Input, grid
from hidet.compute.evaluate import evaluate as evaluate_definition
from hidet.compute.grid import At, Computed
from hidet.compute.inline import element
from hidet.compute.sizes import numbers, tidy
from hidet.fusion.compose import compose, operands
from hidet.fusion.group import Group
from hidet.graph import evaluate
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node as Step
from hidet.graph.tensor import Tensor
from hidet.ir.expr import Expr, Var, constant, wrap
from hidet.ir.node import Node
from hidet.ir.walk import postorder, substitute, variables
from hidet.tuning.verdict import Array, Expected, Problem
from hidet.types import Size, TensorType, boolean, i32

SEED = 20
TYPICAL = 128
"""What a size known only at run time is while tuning; less where the inputs would not fit."""
MOST_BYTES = 1 << 29
"""Inputs of symbolic sizes are made smaller until they are no larger."""
WHOLE = 3e8
"""Operations up to which an operator is evaluated everywhere."""
SAMPLED = 48
"""Elements at which a longer one is evaluated."""
BLOCK = 1_048_573
"""Random numbers that are drawn; larger tensors repeat them (a prime: rows are not alike)."""


def problem_of(group: Group, graph: FlowGraph, operations: float) -> Problem:
    """The problem that a group of about so many operations solves; `graph` is the group alone."""
    sizes = sizes_of(graph)
    given = [values_of(each, group, sizes) for each in group.inputs]
    # What the graph has beyond the group's inputs only says how large sizes are.
    for each in graph.inputs[len(given) :]:
        given.append(np.zeros(shape_of(each, sizes), each.dtype.numpy))
    found = everywhere(graph, given) if operations <= WHOLE else sampled(group, given)
    return Problem(tuple(given), tuple(found), 4 * sum(node.op.factor for node in group.nodes))


def harmless_inputs(graph: FlowGraph, total: int) -> list[Array]:
    """Values for the inputs of a whole model, of which it does what it usually does: floats as the
    operators want them that read them, masks that let all through, and zeros for numbers, which may
    be positions in anything. The sizes that only calls tell come to `total` together, where the
    model's limits let them."""
    symbols = {var for t in graph.inputs for size in t.shape for var in symbols_in(size)}
    number = max(1, round(total ** (1 / max(1, len(symbols)))))
    sizes: dict[Var, Expr] = {}
    for each in symbols:
        low, high = graph.limits.get(each.name, (1, None))
        sizes[each] = constant(max(low, number if high is None else min(number, high)), i32)
    return [harmless(each, graph, sizes) for each in graph.inputs]


def harmless(tensor: Tensor, graph: FlowGraph, sizes: dict[Var, Expr]) -> Array:
    """Such values for one input."""
    shape, of = shape_of(tensor, sizes), tensor.dtype
    if not of.is_float:
        fill = np.ones if of is boolean else np.zeros
        return fill(shape, of.numpy)
    readers = [node.op for node in graph.nodes if any(each is tensor for each in node.inputs)]
    within = readers[0].within if readers else (0.0, 1.0)
    block = np.random.default_rng(SEED).uniform(*within, min(BLOCK, max(1, prod(shape))))
    return np.resize(block.astype(of.numpy), shape)


def sizes_of(graph: FlowGraph) -> dict[Var, Expr]:
    """A number for each symbolic size."""
    symbols = {var for t in graph.inputs for size in t.shape for var in symbols_in(size)}
    number = TYPICAL
    while True:
        sizes: dict[Var, Expr] = {each: constant(number, i32) for each in symbols}
        nbytes = sum(prod(shape_of(t, sizes)) * t.dtype.nbytes for t in graph.inputs)
        if nbytes <= MOST_BYTES or number == 1 or not sizes:
            return sizes
        number //= 2


def symbols_in(size: Size) -> list[Var]:
    """The symbols in a size."""
    return [] if isinstance(size, int) else variables(size)


def shape_of(tensor: Tensor, sizes: dict[Var, Expr]) -> tuple[int, ...]:
    """A tensor's shape in numbers."""
    return numbers(tuple(number(size, sizes) for size in tensor.shape))


def number(size: Size, sizes: dict[Var, Expr]) -> Size:
    """A size with the symbols put in."""
    return size if isinstance(size, int) else tidy(substitute(wrap(size), sizes))


def values_of(tensor: Tensor, group: Group, sizes: dict[Var, Expr]) -> Array:
    """Test values for an input, as the operator that reads it wants them."""
    read = ((n, i) for n in group.nodes for i, each in enumerate(n.inputs) if each is tensor)
    node, place = next(read)
    shape = shape_of(tensor, sizes)
    if tensor.dtype.is_float:
        random = np.random.default_rng((SEED, group.nodes.index(node), place))
        block = random.uniform(*node.op.within, min(BLOCK, prod(shape)))
        return np.resize(block.astype(tensor.dtype.numpy), shape)
    op = node.op.with_sizes(lambda size: number(size, sizes))
    return np.ascontiguousarray(op.examples(SEED)[place], tensor.dtype.numpy).reshape(shape)


def everywhere(graph: FlowGraph, given: Sequence[Array]) -> list[Expected]:
    """The results by the operators' references, in float64."""
    values = evaluate(graph, *given)
    return [
        Expected(None, v, precision(t, graph.nodes))
        for v, t in zip(values, graph.outputs, strict=True)
    ]


def precision(tensor: Tensor, nodes: Sequence[Step]) -> str:
    """The type in whose last places a result may be off: that of what it is made of, if the
    operator rounds that first."""
    made = (each for node in nodes for each in zip(node.outputs, node.op.precisions(), strict=True))
    return next((of for each, of in made if each is tensor), tensor.dtype).name


def sampled(group: Group, given: Sequence[Array]) -> list[Expected]:
    """Some elements of the results by the operators' definitions, corners among them."""
    inputs = operands(group.inputs)
    known: dict[Tensor, Grid] = dict(inputs)
    grids = compose(group.nodes, known)
    symbols = sizes_of(FlowGraph(group.inputs, group.results))
    found = []
    for tensor in group.results:
        shape = shape_of(tensor, symbols)
        positions = some_of(prod(shape))
        index = [np.asarray(each, np.int32) for each in np.unravel_index(positions, shape)]
        tables = [Input(f"index{axis}", TensorType(i32, (SAMPLED,))) for axis in range(len(shape))]
        part = Definition((*inputs.values(), *tables), (elements(grids[tensor], tables),))
        (values,) = evaluate_definition(part, *given[: len(inputs)], *index)
        wide = values.astype(np.float64) if tensor.dtype.is_float else values
        found.append(Expected(positions, wide, precision(tensor, group.nodes)))
    return found


def some_of(count: int) -> Array:
    """Flat positions below `count`: the first, the last, and others at random."""
    random = np.random.default_rng(SEED).integers(0, count, SAMPLED - 2)
    return np.asarray([0, count - 1, *random])


def elements(whole: Grid, tables: Sequence[Input]) -> Grid:
    """The elements of a grid whose indices are in tables, without computing the others."""
    done: dict[Node, Any] = {}

    def written_out(node: Grid) -> Any:
        for each in postorder([node]):
            if each not in done:
                done[each] = put_in(each.map_children(done.__getitem__))
        return done[node]

    def put_in(node: Node) -> Node:
        if isinstance(node, At) and isinstance(node.grid, Computed):
            return element(node.grid, node.index)
        return node

    def one(i: Expr) -> Expr:
        return whole[tuple(table[i] for table in tables)]

    plain = grid((SAMPLED,), one)
    made: Grid = written_out(plain)
    return made
