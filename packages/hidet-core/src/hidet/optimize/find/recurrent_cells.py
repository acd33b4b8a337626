"""Cells of recurrent layers as loops spell them: what does not depend on the state is computed for
all steps at once, and the columns of a unit's gates become neighbours.

before   loop:  y = x[t] @ W + h @ U + b;  i, f, g, o = split(y);  h = o * tanh(f * c + i * g)
after    z = x @ W;  V = U, its columns in turns
         loop:  i = z[t][:n] + (h @ V)[0::4] + b[:n], ...

A kernel of h @ V holds all gates of a unit then, and writes the next state alone, as that of
`ops.recurrence` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hidet import ops
from hidet.compute.sizes import same
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import reading, rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.flow.control import ITERATION, Loop
from hidet.ops.flow.loops import repeated
from hidet.ops.flow.trace import Trace
from hidet.ops.indexing.index import Take
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.tensors.shape import Reshape
from hidet.ops.tensors.slicing import Slice
from hidet.optimize.constants import Readers
from hidet.optimize.merge.gates import is_function
from hidet.optimize.normalize import maker

FEWEST, MOST = 3, 4
"""How many gates a cell has: two are any gated layer, and `merge_gates` is for them."""


def recurrent_cells(graph: FlowGraph) -> FlowGraph:
    """Compute what each iteration of a loop computes of a row of x for all rows before, and let the
    gates of a cell take turns."""

    def change(original: Node, node: Node) -> Sequence[Tensor] | None:
        if not isinstance(node.op, Loop) or node.op.body.graph.data_sizes:
            return None
        loop = Cells(node)
        return loop.rebuilt() if loop.products or loop.gated else None

    return rewrite_from(graph, change)


@dataclass(frozen=True)
class Gates:
    """The parts of one sum, of equal size along the last axis, with all the products in it."""

    slices: tuple[Tensor, ...]
    whole: Tensor
    products: tuple[Node, ...]


class Cells:
    """A loop, and what of its body can be computed otherwise."""

    def __init__(self, node: Node) -> None:
        op = node.op
        assert isinstance(op, Loop)
        self.node, self.op, self.graph = node, op, op.body.graph
        self.go_on, self.trips, self.carried, self.captured = op.arrange(list(node.inputs))
        inside = self.graph.inputs[1 + len(self.carried) :]
        self.outside: dict[Tensor, Tensor] = dict(zip(inside, self.captured, strict=True))
        """What the body reads from around it, by what it calls that."""
        self.readers = Readers(self.graph)
        self.made: set[Node] = set()
        """The nodes of the new body that are those of the old one."""
        self.products = [each for each in self.graph.nodes if self.is_of_a_row(each)]
        """Those that all iterations share out: each computes its row."""
        self.gated = [found for each in self.graph.nodes if (found := self.gates(each))]

    # ---- what there is to do ---------------------------------------------------------------------

    def is_product(self, node: Node) -> bool:
        """Whether a node multiplies by a weight that no iteration changes."""
        if isinstance(node.op, Matmul):
            plain = not (node.op.transpose_a or node.op.transpose_b or node.op.dtype)
            fits = plain and node.inputs[1].ndim == 2
        else:
            fits = isinstance(node.op, Linear)
        return fits and all(each in self.outside for each in node.inputs[1:])

    def is_of_a_row(self, node: Node) -> bool:
        """Whether a node multiplies the row that an iteration takes of what no iteration changes,
        and iterations take as many as there are."""
        made = node.inputs[0].trace if self.is_product(node) else None
        if made is None or not isinstance(made[0].op, Take) or made[0].op.axes != (0,):
            return False
        x, *indices = made[0].inputs
        count = self.op.count
        if x not in self.outside or count is None or self.trips is not None:
            return False
        return indices[0].ndim == 0 and same(x.shape[0], count) is True

    def gates(self, node: Node) -> Gates | None:
        """The gates that a sum or product is split into, of which nothing else is read."""
        if len(node.outputs) != 1 or not (is_sum(node) or self.is_product(node)):
            return None
        (whole,) = node.outputs
        slices = self.slices(whole)
        if slices is None:
            return None
        products = tuple(self.summed(whole, whole))
        return Gates(slices, whole, products) if products else None

    def slices(self, whole: Tensor) -> tuple[Tensor, ...] | None:
        """The parts of equal size that cover a tensor's last axis, if these are all that is read of
        it, and element by element."""
        found = self.readers.of(whole)
        if whole.ndim != 2 or not FEWEST <= len(found) <= MOST:
            return None
        if not all(isinstance(each.op, Slice) for each in found):
            return None
        starts = {slice_start(each): each.outputs[0] for each in found}
        size, count = whole.shape[-1], len(found)
        if not isinstance(size, int) or size % count:
            return None
        parts = [starts.get(number * (size // count)) for number in range(count)]
        fit = all(p is not None and p.shape == (whole.shape[0], size // count) for p in parts)
        read = [r for p in parts if p is not None for r in self.readers.users.get(p, [])]
        if not fit or not all(map(is_function, read)):
            return None
        return tuple(each for each in parts if each is not None)

    def summed(self, tensor: Tensor, whole: Tensor) -> list[Node]:
        """The products of the state in a sum of which nothing else is read."""
        if tensor is not whole and self.readers.only(tensor) is None:
            return []
        node = maker(tensor)
        if node is None:
            return []
        if is_row(node):
            return self.summed(node.inputs[0], whole)
        if is_sum(node):
            return [
                each for term in dict.fromkeys(node.inputs) for each in self.summed(term, whole)
            ]
        return [node] if self.is_product(node) and node not in self.products else []

    # ---- the loop again --------------------------------------------------------------------------

    def rebuilt(self) -> Sequence[Tensor]:
        """The same loop with all that is computed otherwise."""
        with tracing(), placed(self.node.place):
            ahead = {each: self.for_all_rows(each) for each in self.products}
            turned = {
                product: [interleaved(self.outside[w], each, product) for w in product.inputs[1:]]
                for each in self.gated
                for product in each.products
            }

            def body(iteration: Tensor, *now: Tensor) -> list[Tensor]:
                inputs = (iteration, *now, *self.captured)
                new = dict(zip(self.graph.inputs, inputs, strict=True))
                return self.inlined(new, ahead, turned)

            types = [ITERATION, *(each.type for each in self.carried)]
            trace = Trace(types, self.node.device, body)
            trace.own |= self.made
            results = trace.given
            return repeated(trace, self.carried, results, self.trips, self.go_on, self.op.count)

    def for_all_rows(self, product: Node) -> Tensor:
        """What a product of a row is for each row."""
        made = maker(product.inputs[0])
        assert made is not None
        weights = [self.outside[each] for each in product.inputs[1:]]
        return product_of(product, self.outside[made.inputs[0]], weights)

    def inlined(
        self,
        new: dict[Tensor, Tensor],
        ahead: Mapping[Node, Tensor],
        turned: Mapping[Node, Sequence[Tensor]],
    ) -> list[Tensor]:
        """The body's results, for what its inputs are."""
        gates = {part: each for each in self.gated for part in each.slices}
        parts = Parts(new)
        for node in self.graph.nodes:
            if node.outputs[0] in gates:
                each = gates[node.outputs[0]]
                number = next(n for n, part in enumerate(each.slices) if part is node.outputs[0])
                new[node.outputs[0]] = parts.part(each.whole, number, len(each.slices))
            elif node in turned:
                x = new[node.inputs[0]]
                parts.products[node.outputs[0]] = product_of(node, x, turned[node])
            elif node in ahead:
                made = maker(node.inputs[0])
                assert made is not None
                new[node.outputs[0]] = ops.take(ahead[node], (new[made.inputs[1]],))
            elif not parts.takes(node):
                found = reading(node, tuple(new.get(each, each) for each in node.inputs))
                self.made.add(found)
                new.update(zip(node.outputs, found.outputs, strict=True))
        return [new.get(each, each) for each in self.graph.outputs]


class Parts:
    """The gates of sums, as sums of the gates of their terms; `products` have theirs in turns."""

    def __init__(self, new: Mapping[Tensor, Tensor]) -> None:
        self.new = new
        self.products: dict[Tensor, Tensor] = {}
        self.sums: set[Tensor] = set()
        """What is made of products and other terms: its gates are computed instead."""
        self.known: dict[tuple[Tensor, int], Tensor] = {}

    def takes(self, node: Node) -> bool:
        """Whether a node has nothing to do but add to such a product."""
        is_taken = any(each in self.products or each in self.sums for each in node.inputs)
        if is_taken:
            self.sums.add(node.outputs[0])
        return is_taken

    def part(self, tensor: Tensor, number: int, count: int) -> Tensor:
        """A gate's part of a term, made once."""
        key = tensor, number
        if key not in self.known:
            self.known[key] = self.made(tensor, number, count)
        return self.known[key]

    def made(self, tensor: Tensor, number: int, count: int) -> Tensor:
        """The same: every so many columns of a product, neighbours of other terms."""
        node = maker(tensor)
        if tensor in self.products:
            return ops.slice(self.products[tensor], -1, number, None, count)
        if node is not None and tensor in self.sums:
            terms = [self.part(each, number, count) for each in node.inputs]
            return ops.add(*terms) if is_sum(node) else terms[0]
        value = self.new.get(tensor, tensor)
        if value.ndim == 0 or same(value.shape[-1], 1):
            return value
        size = value.shape[-1] // count
        return ops.slice(value, -1, number * size, (number + 1) * size)


def product_of(node: Node, x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """The product that a node computes, of other operands."""
    return ops.linear(x, *weights) if isinstance(node.op, Linear) else ops.matmul(x, *weights)


def interleaved(weight: Tensor, gates: Gates, product: Node) -> Tensor:
    """A weight or bias whose columns (rows of a linear layer's) take turns, one of each gate."""
    count = len(gates.slices)
    if weight.ndim == 1:
        return ops.reshape(ops.transpose(ops.reshape(weight, (count, -1)), 0, 1), (-1,))
    if isinstance(product.op, Linear):
        parted = ops.reshape(weight, (count, -1, weight.shape[1]))
        return ops.reshape(ops.transpose(parted, 0, 1), weight.shape)
    parted = ops.reshape(weight, (weight.shape[0], count, -1))
    return ops.reshape(ops.transpose(parted, 1, 2), weight.shape)


def is_row(node: Node) -> bool:
    """Whether a node only takes away, or adds, axes of size 1 before the last one."""
    if not isinstance(node.op, Reshape):
        return False
    (x,), (y,) = node.inputs, node.outputs
    shapes = x.shape, y.shape
    return all(s and s[-1] == x.shape[-1] and set(s[:-1]) <= {1} for s in shapes)


def is_sum(node: Node) -> bool:
    """Whether a node adds two tensors."""
    return node.op.name == "add" and getattr(node.op, "dtype", None) is None


def slice_start(node: Node) -> object:
    """Where along the last axis a slice of neighbours begins that has all other axes whole."""
    op = node.op
    assert isinstance(op, Slice)
    is_plain = all(step == 1 for step in op.steps) and not any(op.starts[:-1])
    return op.starts[-1] if is_plain else None
