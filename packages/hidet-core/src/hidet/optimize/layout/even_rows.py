"""Matmuls on rows of whole 16 bytes, or whole lines of memory, where theirs are no such ones.

The copy engine, and accesses of 16 bytes, take no others, and rows that begin in the midst of lines
come slower: a matmul of 2040 takes 1.2 times as long as one of 2048 (H200). What is padded is the
sum over k, to which zeros add nothing: the result has the rows and columns that it had.
"""

from __future__ import annotations

from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import reading
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.tensors.slicing import window
from hidet.optimize.constants import Constants, Readers
from hidet.optimize.layout.channels_last import Saving, no_saving, operator_of
from hidet.optimize.layout.even_forms import (
    Form,
    Product,
    keeps_zeros,
    multiplied,
    own_forms,
    ways,
    with_wide_result,
)
from hidet.optimize.merge.horizontal import applied, is_function


def even_rows(graph: FlowGraph, saving: Saving = no_saving) -> FlowGraph:
    """Let matmuls that are faster for it read rows of whole 16 bytes, or of whole lines.

    before   y = linear(x[300, 999], w[1777, 999]);  c = matmul(a[64, 1024], b[1024, 77])
    after    y = linear(pad(x), pad(w)) of 1024 along k;  c = matmul(a, permute(b), transpose_b)

    An operand whose rows run across k is turned, as their length is that of the result's. Weights
    are padded once, before the first call. Another operand is copied by one kernel for all its
    readers, which has to pay; but the result of a layer with a known weight is written with zeros
    behind its rows, which rows of zeros in that weight give, where all its readers, through
    functions that keep zeros, are such matmuls. Inputs and outputs of the graph stay as they are.
    """
    if not any(isinstance(node.op, Linear | Matmul) and ways(node.op) for node in graph.nodes):
        return graph
    return EvenRows(graph, saving).run()


class EvenRows:
    """One graph on its way: what its tensors became, and which have zeros behind their rows."""

    def __init__(self, graph: FlowGraph, saving: Saving) -> None:
        self.graph, self.saving = graph, saving
        self.constants, self.readers = Constants(graph), Readers(graph)
        self.own: dict[Tensor, Tensor] = {}
        self.wide: dict[Tensor, Tensor] = {}
        self.copies: dict[tuple[Tensor, Form], Tensor] = {}
        """Operands in forms in which matmuls read them, for all that do."""

    def run(self) -> FlowGraph:
        """The whole graph; the same one where nothing pays."""
        for node in self.graph.nodes:
            with tracing(), placed(node.place):
                if not self.changes(node):
                    now = reading(node, tuple(map(self.as_it_was, node.inputs)))
                    self.own.update(zip(node.outputs, now.outputs, strict=True))
        if not self.copies:
            return self.graph
        with tracing():
            return self.graph.with_outputs([self.as_it_was(each) for each in self.graph.outputs])

    def as_it_was(self, x: Tensor) -> Tensor:
        """What became of a tensor, without zeros behind its rows."""
        if x in self.wide and x not in self.own:
            self.own[x] = window(self.wide[x], (0,) * x.ndim, x.shape)
        return self.own.get(x, x)

    def changes(self, node: Node) -> bool:
        """Compute a node on even rows, or write zeros behind those of its result, or neither."""
        if isinstance(node.op, Linear | Matmul):
            return self.multiplies(node, node.op)
        if not (node.inputs and node.inputs[0] in self.wide and is_function(node)):
            return False
        self.wide[node.outputs[0]] = applied(node, self.wide[node.inputs[0]])
        return True

    def multiplies(self, node: Node, op: Product) -> bool:
        """The same of a matmul."""
        weight, *more = map(self.as_it_was, node.inputs[1:])
        shift = more[0] if more else None
        wide = self.written_width(node)
        if wide:
            weight, shift = with_wide_result(op, weight, shift, wide)
        made = self.evened(node, op, weight, shift)
        if made is None and not wide:
            return False
        x = self.as_it_was(node.inputs[0])
        plain = multiplied(op, x, weight, shift, own_forms(op))
        (self.wide if wide else self.own)[node.outputs[0]] = plain if made is None else made
        return True

    def evened(self, node: Node, op: Product, weight: Tensor, bias: Tensor | None) -> Tensor | None:
        """A matmul by what its weight and bias became, on even rows; None if that does not pay."""
        a, b = node.inputs[:2]
        x, best, found = self.as_it_was(a), 0.0, None
        for form in ways(op):
            left, of_a = self.lying(a, x, form[0])
            right, of_b = self.lying(b, weight, form[1])
            made = multiplied(op, left, right, bias, form)
            written = [each.type for each, copied in ((left, of_a), (right, of_b)) if copied]
            saved = self.saving(op, operator_of(made), written)
            if saved > best:
                best, found = saved, (made, {(x, form[0]): left, (weight, form[1]): right})
        if found is None:
            return None
        self.copies |= found[1]
        return found[0]

    def lying(self, x: Tensor, now: Tensor, form: Form) -> tuple[Tensor, bool]:
        """What a tensor became, in a form, and whether each call copies it for that."""
        if x in self.wide and form.has_zeros_behind(self.wide[x]):
            return self.wide[x], False
        if (now, form) in self.copies:
            return self.copies[now, form], False
        made = form.of(now)
        return made, made is not now and x not in self.constants

    def written_width(self, node: Node) -> int:
        """How long a layer's result has its rows written, zeros behind them; 0: as they are."""
        known = all(each in self.constants for each in node.inputs[1:])
        if not known or node.inputs[0] in self.constants:
            return 0
        return self.wanted_width(node.outputs[0])

    def wanted_width(self, x: Tensor) -> int:
        """How long all that read a tensor want its rows, zeros behind them: matmuls that gain by
        it, or functions that keep zeros for such ones. 0: they do not, or do not agree."""
        found = {self.width_for(each, x) for each in self.readers.of(x)}
        return found.pop() if len(found) == 1 else 0

    def width_for(self, node: Node, x: Tensor) -> int:
        """The same for one of them."""
        op = node.op
        if not isinstance(op, Linear | Matmul):
            function = is_function(node) and keeps_zeros(op)
            return self.wanted_width(node.outputs[0]) if function else 0
        (a, b, *more), best, width = node.inputs, 0.0, 0
        if a is not x or any(each is x for each in (b, *more)):
            return 0
        for form in ways(op):
            right = form[1].of(b)
            made = multiplied(op, form[0].of(a), right, more[0] if more else None, form)
            written = [] if b in self.constants or right is b else [right.type]
            saved = self.saving(op, operator_of(made), written)
            if form[0].is_padded_alone and form[0].k > a.shape[-1] and saved > best:
                best, width = saved, form[0].k
        return width
