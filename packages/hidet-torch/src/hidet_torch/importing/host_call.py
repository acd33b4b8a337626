"""Nodes of an fx graph that stay in PyTorch, as host steps of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any

import torch

from hidet.errors import NotYet
from hidet.frontend.running.fallback import HostCall
from hidet.types import TensorType
from hidet_torch.importing.facts import has_effects, is_random, require_device, require_plain
from hidet_torch.importing.foreign import ForeignCall, ForeignStep, Instruction, Number, Slot
from hidet_torch.importing.sizes import Sizes
from hidet_torch.importing.slices import is_symbolic
from hidet_torch.importing.views import VIEWS, needs_strides, views_to
from hidet_torch.memory.dtypes import hidet_dtype


class HostCalls:
    """How PyTorch runs nodes of one graph; `values` holds what each node became."""

    def __init__(self, values: Mapping[Any, Any], sizes: Sizes, device: str) -> None:
        self.values, self.sizes, self.device = values, sizes, device

    def of(self, node: torch.fx.Node) -> HostCall:
        """A node as PyTorch runs it; random numbers are drawn in the order of the graph."""
        results = results_of(node)
        if any(isinstance(each, torch.SymInt | torch.SymFloat) for each in results):
            raise NotYet(f"{node.target}, whose results are numbers that depend on data")
        program = Program(self, node)
        return HostCall(
            str(node.target),
            tuple(self.values[each] for each in program.operands),
            tuple(
                self.type_of(each) if isinstance(each, torch.Tensor) else None for each in results
            ),
            ForeignStep(program.call()),
            effects=is_random(node.target) or has_effects(node.target),
        )

    def is_operand(self, node: torch.fx.Node) -> bool:
        """Whether a node's value is a tensor on the graph's device; a token, which is for nothing
        but the order, is none."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or self.values[node] is None:
            return False
        require_device(value, self.device)
        return True

    def are_known(self, node: torch.fx.Node) -> bool:
        """Whether calls know all numbers that a node takes: none is a data-dependent size."""
        values = [each.meta.get("val") for each in node.all_input_nodes]
        symbols = (v.node.expr.free_symbols for v in values if is_symbolic(v))
        return all(self.sizes.data_sizes.keys().isdisjoint(each) for each in symbols)

    def number(self, value: Any) -> Any:
        """A symbolic number as something that reads it from the symbols of a call."""
        if not is_symbolic(value):
            return value
        e = value.node.expr
        if not self.sizes.data_sizes.keys().isdisjoint(e.free_symbols):
            raise NotYet(f"the number {e}, which data tell, outside of the compiled graph")
        names = {each: self.sizes.convert(each).name for each in e.free_symbols}
        if e in names and isinstance(value, torch.SymInt):
            return Number(itemgetter(names[e]))
        kind = float if isinstance(value, torch.SymFloat) else int
        # SymPy takes longer for a sum than PyTorch for a small operator.
        known = lru_cache(1024)(lambda *given: kind(e.subs(dict(zip(names, given, strict=True)))))
        return Number(lambda symbols: known(*[symbols[name] for name in names.values()]))

    def type_of(self, value: torch.Tensor) -> TensorType:
        """The type of a result."""
        require_plain(value)
        require_device(value, self.device)
        return TensorType(hidet_dtype(value.dtype), self.sizes.of(value))


class Program:
    """The calls by which PyTorch computes a node: those of the views that lead to it come first."""

    def __init__(self, calls: HostCalls, node: torch.fx.Node) -> None:
        self.calls = calls
        self.nodes = [*views_to(node, calls.are_known), node]
        inner = set(self.nodes)
        read = (each for one in self.nodes for each in one.all_input_nodes)
        outside = [each for each in dict.fromkeys(read) if each not in inner]
        self.operands = [each for each in outside if calls.is_operand(each)]
        self.known = {each: place for place, each in enumerate(self.operands)}

    def call(self) -> ForeignCall:
        """The instructions in order."""
        found = []
        count = len(self.operands)
        for node in self.nodes:
            exact = needs_strides(node.target)
            args, kwargs = (self.filled(each, exact) for each in (node.args, node.kwargs))
            values = enumerate(results_of(node))
            places = tuple(place for place, e in values if isinstance(e, torch.Tensor))
            found.append(Instruction(VIEWS.get(node.target, node.target), args, kwargs, places))
            self.known[node] = count
            count += len(places)
        results = range(self.known[self.nodes[-1]], count)
        return ForeignCall(len(self.operands), tuple(found), tuple(results))

    def filled(self, value: Any, exact: bool) -> Any:
        """Arguments with places for the values that a call brings."""
        match value:
            case torch.fx.Node():
                return self.of_node(value, exact)
            case list() | tuple():
                return [self.filled(each, exact) for each in value]
            case dict():
                return {key: self.filled(each, exact) for key, each in value.items()}
        return value

    def of_node(self, node: torch.fx.Node, exact: bool) -> Any:
        """What stands for a node's value."""
        example, number = node.meta.get("val"), self.calls.number
        if node in self.known and isinstance(example, torch.Tensor):
            strides = tuple(map(number, example.stride())) if exact else None
            return Slot(self.known[node], example.is_complex(), strides)
        return number(example) if is_symbolic(example) else self.calls.values[node]


def results_of(node: torch.fx.Node) -> list[Any]:
    """What PyTorch knows of each result of a node."""
    expected = node.meta.get("val")
    return list(expected) if isinstance(expected, list | tuple) else [expected]
