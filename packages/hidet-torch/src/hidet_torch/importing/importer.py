"""From an fx graph of ATen operators to a FlowGraph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from hidet import ops
from hidet.errors import InternalError, NotYet, Place
from hidet.frontend.importing.complex_numbers import ComplexOf
from hidet.frontend.importing.importer import Importer
from hidet.frontend.running.fallback import HostCall
from hidet.frontend.running.regions import joined
from hidet.graph import FlowGraph, Guards, Tensor, assuming, guarded_with, tracing
from hidet.graph.dims import same
from hidet.types import TensorType, u8
from hidet.types.strides import inverse
from hidet_torch.converters import NotComputed
from hidet_torch.converters import torch as table
from hidet_torch.importing.checks import check_of, check_of_values, is_check
from hidet_torch.importing.data_sizes import ASSERTS, READS, is_about_sizes, note, size_from
from hidet_torch.importing.facts import (
    CHECKS,
    STRIDED,
    is_complex,
    is_random,
    is_token,
    main_device,
    rearranged,
    require_device,
    require_plain,
)
from hidet_torch.importing.foreign import as_step
from hidet_torch.importing.host_call import HostCalls
from hidet_torch.importing.imported import Imported, LiveInput, Update, replaced
from hidet_torch.importing.in_place import updates_in_place
from hidet_torch.importing.pairs import Pairs, has_pairs
from hidet_torch.importing.pairs import converter as converter_of_pairs
from hidet_torch.importing.place import place_of
from hidet_torch.importing.refused import Refused
from hidet_torch.importing.results import TorchResults
from hidet_torch.importing.size_names import size_names
from hidet_torch.importing.sizes import Sizes, data_sizes_among
from hidet_torch.importing.slices import example, is_symbolic_slice, symbolic_slice
from hidet_torch.importing.subgraph import Subgraph
from hidet_torch.memory.dtypes import hidet_dtype
from hidet_torch.memory.strides import order_of
from hidet_torch.memory.tensors import device_of
from hidet_torch.weights.weight import Weight


def import_graph(
    module: torch.fx.GraphModule,
    frozen: Mapping[torch.fx.Node, torch.Tensor] | None = None,
    name: str = "torch",
) -> Imported:
    """The FlowGraph of an fx graph whose nodes carry example values (`meta["val"]`).

    Placeholders in `frozen` become constants that share their tensors' memory. What has no
    converter becomes a Foreign node. Raises Refused where values cannot be in a FlowGraph at all.
    """
    importer = TorchImporter(module, dict(frozen or {}), name)
    try:
        with assuming(importer.guards):  # torch.export may give equal lengths different names
            return importer.run()
    except Refused:
        if not importer.guards:
            raise
    # Of data-dependent sizes not all can be checked: then nothing is assumed, and operators that
    # would need it stay in PyTorch.
    return TorchImporter(module, dict(frozen or {}), name).run()


class TorchImporter(Importer[torch.fx.Node]):
    """Walks one fx graph in its order; `values` holds what each node became."""

    framework = "PyTorch"

    def __init__(
        self, module: torch.fx.GraphModule, frozen: dict[torch.fx.Node, torch.Tensor], name: str
    ) -> None:
        super().__init__(table, main_device(module.graph))
        self.module, self.frozen, self.name = module, frozen, name
        self.placeholders = module.graph.find_nodes(op="placeholder")
        self.position = {node: number for number, node in enumerate(self.placeholders)}
        self.sizes = Sizes(size_names(self.placeholders))
        self.inputs: list[LiveInput] = []
        self.numbers: dict[str, int] = {}
        self.weights: dict[Tensor, Weight] = {}
        self.known: dict[int, Tensor] = {}
        self.mutations: list[tuple[int, Tensor]] = []
        self.host_calls = HostCalls(self.values, self.sizes, self.device)
        self.updates = updates_in_place(module.graph)
        self.updated: list[tuple[int, Tensor]] = []
        self.literals: dict[torch.fx.Node, Any] = {}
        self.guards = Guards()
        self.pairs = Pairs()
        self.visited: torch.fx.Node | None = None

    def run(self) -> Imported:
        """The whole graph; Refused if it has to stay in PyTorch."""
        try:
            with tracing():
                self.walk(self.module.graph.nodes)
                return self.finish()
        except NotYet as error:
            raise Refused(error, self.visited) from error

    # ---- what nodes are --------------------------------------------------------------------------

    def key(self, node: torch.fx.Node) -> tuple[Any, int]:
        """The operator, or its name where that has a converter: operators of libraries are there
        once these are imported. They have no versions."""
        target = node.target
        if isinstance(target, torch._ops.OpOverload) and target.name() in self.table:
            return target.name(), 0
        return target, 0

    def place(self, node: torch.fx.Node) -> Place | None:
        """The user's line."""
        return place_of(node)

    def arguments(self, node: torch.fx.Node) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as converters take them."""
        given = self.given(node.args)
        if node.target in STRIDED:  # how it lies in memory matters
            given.insert(1, example(node.args[0]))
        return given, self.given(node.kwargs)

    def results(self, node: torch.fx.Node) -> Sequence[torch.fx.Node]:
        """The node itself: several results are a tuple, as in PyTorch."""
        return [node]

    def bind(self, node: torch.fx.Node, values: Sequence[Any]) -> None:
        """Keep what a node became."""
        is_many = isinstance(node.meta.get("val"), list | tuple)
        self.values[node] = tuple(values) if is_many else values[0]

    def converter(self, node: torch.fx.Node) -> Callable[..., Any]:
        """What converts an operator; slices of symbolic sizes need what holds in the trace."""
        if is_random(node.target) and node.target not in table:
            raise NotYet("random numbers are PyTorch's")
        found = converter_of_pairs(node) if has_pairs(node) else super().converter(node)
        if is_symbolic_slice(node) and not has_pairs(node):
            return lambda *given: symbolic_slice(self.values, self.sizes, *node.args)
        return found

    def leave(self, node: torch.fx.Node) -> HostCall:
        """PyTorch runs everything."""
        return self.host_calls.of(node)

    def visit(self, node: torch.fx.Node) -> None:
        """One node, by its kind."""
        self.visited = node
        if node.op == "placeholder":
            self.placeholder(node, self.position[node])
        elif node.op == "get_attr":
            self.attribute(node)
        elif node.op == "call_function":
            self.function(node)
        elif node.op != "output":
            raise NotYet(f"a node of kind {node.op} in the graph")

    # ---- what comes in --------------------------------------------------------------------------

    def placeholder(self, node: torch.fx.Node, position: int) -> None:
        """A weight becomes a constant, a tensor an input; a number is known or a symbol."""
        value = node.meta.get("val")
        if node in self.frozen:
            self.values[node] = self.constant(self.frozen[node])
        elif is_token(node):
            self.values[node] = None
        elif isinstance(value, torch.Tensor):
            self.values[node] = self.live(node, value, position)
        elif isinstance(value, torch.SymInt):
            found = self.values[node] = self.sizes.size(value)
            if not isinstance(found, int):
                self.numbers[getattr(found, "name", "")] = position
        elif value is None or isinstance(value, int | float | bool | str):
            self.values[node] = value
        else:
            raise NotYet(f"an input of type {type(value).__name__}")

    def live(self, node: torch.fx.Node, value: torch.Tensor, position: int) -> Tensor:
        """An input; one that lies in another order of axes is permuted in the graph."""
        require_plain(value)
        if value.ndim:
            require_device(value, self.device)
        order = order_of(value) or tuple(range(value.ndim))
        shape = self.sizes.of(value)
        whole = (*order, *range(value.ndim, len(shape)))
        type_ = TensorType(hidet_dtype(value.dtype), tuple(shape[axis] for axis in whole))
        symbol = Tensor(type_, self.device, name=node.name)
        own = device_of(value.device)
        self.inputs.append(LiveInput(position, symbol, order, own, value.is_complex()))
        return rearranged(symbol, inverse(whole))

    def attribute(self, node: torch.fx.Node) -> None:
        """A tensor that the graph holds is a constant; a graph inside of it is kept as it is."""
        value = operator.attrgetter(str(node.target))(self.module)
        if isinstance(value, torch.Tensor):
            self.literals[node] = value
            self.values[node] = self.constant(value)
        else:
            self.values[node] = value

    def constant(self, value: torch.Tensor) -> Tensor:
        """A tensor whose values are there, in PyTorch's memory if it lies in rows of some order."""
        require_plain(value)
        order = order_of(value) or tuple(range(value.ndim))
        whole = (*order, *((value.ndim,) if value.is_complex() else ()))
        made = self.known.get(id(value))
        if made is None:
            weight = Weight.of(value, self.device, order)
            made = self.known[id(value)] = weight.constant()
            self.weights[made] = weight
        return rearranged(made, inverse(whole))

    # ---- what is called -------------------------------------------------------------------------

    def function(self, node: torch.fx.Node) -> None:
        """A call: of Python's on sizes and tuples, a write to an input, or an operator."""
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
        elif node.target in CHECKS or is_about_sizes(node):
            if node.target in ASSERTS and isinstance(node.args[0], torch.fx.Node):
                note(node.args[0].meta.get("val"), self.sizes)
            self.values[node] = None
        elif node.target in READS:
            value = node.meta.get("val")
            found = self.values[node] = size_from(self.values[node.args[0]], value)
            self.sizes.tell(value.node.expr, found)
        elif isinstance(node.meta.get("val"), torch.SymInt | int | bool):
            self.values[node] = self.sizes.size(node.meta["val"])
        elif isinstance(node.meta.get("val"), torch.SymFloat):
            self.values[node] = self.sizes.real(node.meta["val"].node.expr, self.device)
        elif node.target is torch.ops.aten.copy_.default and node.args[0] in self.position:
            target = node.args[0]
            assert isinstance(target, torch.fx.Node)
            source = self.values[node.args[1]]
            is_update = source is not ops.origin(source) is self.values[target]
            (self.updated if is_update else self.mutations).append((self.position[target], source))
            self.values[node] = source
        elif is_check(node):
            self.fallback.add(check_of(node, self.host_calls))
            self.values[node] = (None, None)  # a token, and no result
        elif not self.fold_literal(node):
            self.operator(node)
            check = check_of_values(node, self.host_calls)
            if check is not None:
                self.fallback.add(check)
            if node in self.updates:
                self.update(node)

    def update(self, node: torch.fx.Node) -> None:
        """Let an update of an input, or of an update of it, take place in the input's memory."""
        base = self.values[node.args[0]]
        is_input = any(each.tensor is base for each in self.inputs)
        if is_input or (isinstance(base, Tensor) and ops.updated_tensor(base) is not None):
            made = ops.in_place(self.values[node])
            if made is not None and ops.updated_tensor(made) is base:
                self.values[node] = made

    def fold_literal(self, node: torch.fx.Node) -> bool:
        """Compute now what depends on nothing but literals and lies on another device."""
        value = node.meta.get("val")
        elsewhere = isinstance(value, torch.Tensor) and device_of(value.device) != self.device
        inputs = node.all_input_nodes
        if not (elsewhere or any(each in self.literals for each in inputs)):
            return False
        if any(each not in self.literals for each in inputs) or is_random(node.target):
            return False
        with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
            args, kwargs = torch.fx.node.map_arg(
                (node.args, node.kwargs), self.literals.__getitem__
            )
            found = node.target(*args, **kwargs)
        if not isinstance(found, torch.Tensor):
            return False
        self.literals[node] = found
        self.values[node] = self.constant(found)
        return True

    def agreed(self, node: torch.fx.Node, found: Sequence[Any]) -> Sequence[Any]:
        """The results, of the types and shapes that PyTorch gives; another type is cast."""
        found = self.pairs.parts(found)
        expected = node.meta.get("val")
        if not isinstance(expected, list | tuple):
            return [self.as_expected(node, found[0], expected)]
        values = found[0] if len(found) == 1 and isinstance(found[0], list) else found
        read = {user.args[1] for user in node.users if user.target is operator.getitem}
        results: list[Any] = []
        for number, (value, each) in enumerate(zip(values, expected, strict=False)):
            if isinstance(value, NotComputed):
                if number in read:
                    raise NotYet(value.what)
                results.append(None)
            else:
                used = number in read or not read
                results.append(self.as_expected(node, value, each) if used else value)
        return results

    def as_expected(self, node: torch.fx.Node, found: Any, expected: Any) -> Any:
        """One result, cast where PyTorch gives another type."""
        if not isinstance(expected, torch.Tensor) or not isinstance(found, Tensor):
            return found
        self.sizes.learn(expected.shape, found.shape)
        wanted = self.sizes.of(expected)
        fits = len(wanted) == found.ndim and all(
            same(a, b) is not False for a, b in zip(wanted, found.shape, strict=True)
        )
        if not fits:
            raise InternalError(
                f"{node.target} ({node.name}) gives shape {found.shape}, PyTorch's is {wanted}"
            )
        return ops.cast(found, hidet_dtype(expected.dtype))

    def given(self, value: Any) -> Any:
        """An argument as converters take it."""
        match value:
            case torch.fx.Node():
                found = self.values[value]
                if is_complex(value):
                    return self.pairs.numbers(found)
                return self.given(found) if isinstance(found, torch.fx.GraphModule) else found
            case list() | tuple():
                return [self.given(each) for each in value]
            case dict():
                return {key: self.given(each) for key, each in value.items()}
            case torch.fx.GraphModule():
                return Subgraph(value, self.inline, self.attempt)
            case torch.dtype():
                of = hidet_dtype(value)
                return ComplexOf(of) if value.is_complex else of
            case torch.device():
                return device_of(value)
        return value

    def inline(self, module: torch.fx.GraphModule, given: Sequence[Any]) -> list[Any]:
        """The results of a graph inside of this one for values of its inputs, its nodes taken into
        the graph around the operator that has it."""
        outer, self.module = self.module, module
        nodes = list(module.graph.nodes)
        inputs = [node for node in nodes if node.op == "placeholder"]
        self.values.update(zip(inputs, given, strict=True))
        try:
            self.walk(node for node in nodes if node.op not in ("placeholder", "output"))
        finally:
            self.module = outer
        found = self.given(module.graph.output_node().args[0])
        return found if isinstance(found, list) else [found]

    # ---- what goes out --------------------------------------------------------------------------

    def finish(self) -> Imported:
        """The graph of the outputs, then what is written into inputs, then the end of the chain."""
        (node,) = self.module.graph.find_nodes(op="output")
        results = TorchResults(self.values, self.host_calls.number, set(self.frozen), self.sizes)
        outputs = results.outputs(list(node.args[0]), self.placeholders)
        mutations = [results.mutation(*each) for each in self.mutations]
        if self.fallback.token is not None:
            results.add(self.fallback.token)
        numbers = {each.position: number for number, each in enumerate(self.inputs)}
        updates = [Update(position, numbers[position]) for position, _ in self.updated]
        # Last, for they do not come out: the results before them keep their numbers.
        tensors = [*results.tensors, *(each for _, each in self.updated)]
        symbols = data_sizes_among(self.inputs, self.sizes, self.numbers)
        carriers = [name for name, (_, axis) in symbols.items() if axis is None]
        by_name = {size.name: size for size in self.sizes.symbols.values()}
        inputs = [each.tensor for each in self.inputs]
        inputs += [Tensor(TensorType(u8, (by_name[n],)), self.device, name=n) for n in carriers]
        graph, new = guarded_with(FlowGraph(inputs, tensors, self.name), self.guards)
        regions = joined(graph, self.fallback.calls, as_step)
        new = {old: regions.tensors.get(each, each) for old, each in new.items()} | regions.tensors
        return Imported(
            self.device,
            [replace(each, tensor=new.get(each.tensor, each.tensor)) for each in self.inputs],
            outputs,
            [each.dtype for each in tensors],
            carriers,
            symbols,
            mutations,
            updates,
            regions.calls,
            has_data_sizes=bool(regions.graph.data_sizes),
            graph=regions.graph,
            weights=self.weights,
            coverage=self.coverage(),
            tensors={node: replaced(value, new) for node, value in self.values.items()},
        )
