"""Post-scheduling fusion: the kernels of an anchor take in what comes before and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from hidet.compute import Grid
from hidet.compute.sizes import same_shape
from hidet.errors import InternalError
from hidet.fusion.accumulator_epilogue import OnAccumulators, has_accumulator_epilogue
from hidet.fusion.boxes import mapped
from hidet.fusion.compose import compose, leading_to, operands
from hidet.fusion.epilogue import Epilogue, Result, inside
from hidet.fusion.epilogue_definition import EpilogueDefinition
from hidet.fusion.group import Group
from hidet.fusion.neighbours import in_groups
from hidet.fusion.neighbours import writes as writes_of
from hidet.graph.tensor import Tensor
from hidet.ir.expr import (
    Address,
    And,
    Expr,
    FromAccumulators,
    Get,
    Select,
    Var,
    constant,
)
from hidet.ir.kernel import Call, Kernel, Module
from hidet.ir.node import Node as IrNode
from hidet.ir.stmt import Body, For, Put
from hidet.ir.walk import rebuild_body, substitute, variables
from hidet.schedules.automatic.expand import Expansion
from hidet.types import TensorType


def fuse(group: Group, module: Module) -> Module:
    """The anchor's scheduled `module` with the group's other operators put into its reads and
    writes: parameters are the group's inputs, then its results."""
    surgery = Surgery(group, module)
    return surgery.run()


class Surgery:
    """One group's kernels being rewritten."""

    def __init__(self, group: Group, module: Module) -> None:
        if group.anchor is None:
            raise InternalError(f"group {group.name} has no anchor")
        self.group, self.module, self.anchor = group, module, group.anchor
        count = len(self.anchor.inputs)
        self.anchor_inputs = module.params[:count]
        self.anchor_results = module.params[count:]
        self.vars: dict[Tensor, Var] = {}
        for tensor, var in zip(self.anchor.inputs, self.anchor_inputs, strict=True):
            self.vars.setdefault(tensor, var)
        for position, tensor in enumerate(group.inputs):
            self.vars.setdefault(tensor, Var(f"x{position}", tensor.type))

    def run(self) -> Module:
        """The fused module."""
        reads, again = self.prologues(), self.repeated()
        results = self.results()
        writes = self.epilogue(results)

        def change(node: IrNode) -> IrNode | Body:
            if isinstance(node, Var) and node in again:
                return again[node]
            if isinstance(node, Get) and node.tensor in reads:
                return reads[node.tensor].at(node.index)
            if isinstance(node, Address) and node.tensor in reads:
                return reads[node.tensor].address(node.index)
            if isinstance(node, Put | FromAccumulators) and node.tensor in writes:
                return writes[node.tensor].instead(node)
            if isinstance(node, For):
                return grouped(node, writes)
            return node

        params = (*(self.vars[each] for each in self.group.inputs), *results)
        local = (*params, *self.module.workspaces)
        parts = {var: each.element for var, each in reads.items()}
        found = (mapped(kernel, parts) for kernel in self.module.kernels)
        kernels = tuple(self.rewritten(kernel, change, local) for kernel in found)
        calls = tuple(
            Call(call.kernel, next(k for k in kernels if k.name == call.kernel).params)
            for call in self.module.calls
        )
        return Module(self.module.name, params, kernels, calls, self.module.workspaces)

    def rewritten(
        self, kernel: Kernel, change: Callable[[IrNode], IrNode | Body], local: tuple[Var, ...]
    ) -> Kernel:
        """One kernel with its hooks replaced, taking the tensors that it now touches."""
        body = rebuild_body(kernel.body, change)
        maps = tuple(substitute(each, self.repeated()) for each in kernel.maps)
        touched = {*variables(body), *(each.tensor for each in maps)}
        scalars = [each for each in kernel.params if not isinstance(each.of, TensorType)]
        params = (*(each for each in local if each in touched), *scalars)
        made = kernel.hinting(lambda some: (v for v in some if v in params))
        return replace(made, params=params, body=body, maps=maps)

    def repeated(self) -> dict[Var, Var]:
        """One tensor that is read through two operands is one parameter."""
        pairs = zip(self.anchor.inputs, self.anchor_inputs, strict=True)
        return {var: self.vars[each] for each, var in pairs if self.vars[each] is not var}

    def prologues(self) -> dict[Var, Prologue]:
        """For each of the anchor's operands that the group computes: how its reads are replaced."""
        inputs = operands(self.group.inputs)
        rounded = {*self.anchor.inputs, *self.group.rounded}
        grids = compose(leading_to(self.anchor.inputs, self.group.nodes), inputs, rounded)
        expansion = Expansion({inputs[each]: self.vars[each] for each in self.group.inputs})
        found: dict[Var, Prologue] = {}
        for tensor, var in zip(self.anchor.inputs, self.anchor_inputs, strict=True):
            if tensor not in inputs:
                found[var] = Prologue(grids[tensor], expansion)
        return found

    def results(self) -> tuple[Var, ...]:
        """The variables of what the group writes: the anchor's own where nothing follows it."""
        if self.group.last is self.anchor:
            return self.anchor_results
        return tuple(Var(f"y{i}", each.type) for i, each in enumerate(self.group.results))

    def epilogue(self, results: tuple[Var, ...]) -> dict[Var, Epilogue]:
        """How writes of the anchor's result become writes of the group's results."""
        if self.group.last is self.anchor:
            return {}
        (result,) = self.anchor_results
        after = EpilogueDefinition(self.group)
        where = after.landings()
        if where is None:
            raise InternalError(f"the epilogue of {self.group.name} moves elements out of sight")
        tensors: dict[Grid, Var] = {after.inputs[each]: self.vars[each] for each in after.inputs}
        value = Var(result.name, after.value.type)
        tensors[after.value] = value
        made = [
            Result(out, after.grids[each], where[each])
            for each, out in zip(self.group.results, results, strict=True)
        ]
        how = OnAccumulators if has_accumulator_epilogue(self.module) else Epilogue
        return {result: how(value, made, Expansion(tensors))}


class Prologue:
    """An operand computed where it is read; zero outside of its shape, as a read gives."""

    def __init__(self, grid: Grid, expansion: Expansion) -> None:
        self.grid, self.expansion = grid, expansion

    def at(self, index: tuple[Expr, ...]) -> Expr:
        """What `get(index)` becomes."""
        value = self.expansion.element(self.grid, index)
        if isinstance(value, Get) and value.index == index:
            of = value.tensor.of
            # The first part of a larger tensor has other ends than that.
            if isinstance(of, TensorType) and same_shape(of.shape, self.grid.shape):
                return value
        return self.guarded(value, index)

    def address(self, index: tuple[Expr, ...]) -> Address:
        """What the address of an element becomes: the operand is a part of another tensor."""
        value = self.element(index)
        return Address(value.tensor, value.index)

    def element(self, index: tuple[Expr, ...]) -> Get:
        """What is read at an index, where the operand is a part of another tensor."""
        value = self.expansion.element(self.grid, index)
        if not isinstance(value, Get):
            raise InternalError(f"{value} is no element of a tensor that could be copied")
        return value

    def guarded(self, value: Expr, index: tuple[Expr, ...]) -> Expr:
        """`value` inside of the shape, zero outside."""
        zero = constant(0, value.dtype)
        asked = inside(index, self.grid.shape)
        return Select(reduce(And, asked), value, zero) if asked else value


def grouped(loop: For, writes: Mapping[Var, Epilogue]) -> For:
    """A loop over neighbours of which one element each is made, if it is one."""
    for result, epilogue in writes.items():
        count = epilogue.neighbours
        if count > 1 and len(writes_of(loop.body, result)) == 1:
            return in_groups(loop, result, count, epilogue.before_rounding, epilogue.put_group)
    return loop


__all__ = ["Surgery", "fuse"]
