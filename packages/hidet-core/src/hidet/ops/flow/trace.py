"""What Python functions compute of symbols, as bodies of control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from hidet.errors import BadArgument
from hidet.graph import Body, FlowGraph, Node, Tensor, recording
from hidet.graph.body import data_size_prefix
from hidet.graph.data_sizes import Within, data_sizes_read
from hidet.graph.guards import data_sizes_inside
from hidet.graph.rewrite import reading
from hidet.ir.expr import Expr, Var
from hidet.ir.order import producers_first
from hidet.ir.walk import variables
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.shape import reshape
from hidet.types import Size, TensorType, boolean

Tensors: TypeAlias = tuple[Tensor, ...]


class Trace:
    """What a function computes of symbols, and what it reads beside them."""

    def __init__(
        self, types: Sequence[TensorType], device: str, function: Callable[..., Any]
    ) -> None:
        self.device = device
        self.inputs = [Tensor(each, device) for each in types]
        self.own: set[Node] = set()
        with self.going_on():
            self.given = function(*self.inputs)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """In this block nodes that are made belong to the body."""
        with recording() as made:
            yield
        self.own.update(made)

    def add(self, types: Sequence[TensorType]) -> list[Tensor]:
        """Further inputs."""
        added = [Tensor(each, self.device) for each in types]
        self.inputs += added
        return added

    def captured(self, results: Sequence[Tensor]) -> Tensors:
        """What of outside these results need, in order of use; numbers are made again inside."""
        data_sizes = data_sizes_read(results, self.nodes, (), self.within(""))
        found: dict[Tensor, None] = {}
        seen = set(self.inputs)
        waiting = [*reversed(results), *(tensor for tensor, _ in data_sizes.values())]
        while waiting:
            tensor = waiting.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            if self.is_inside(tensor):
                assert tensor.trace is not None
                waiting += reversed(tensor.trace[0].inputs)
            else:
                found[tensor] = None
        return tuple(found)

    def is_inside(self, tensor: Tensor) -> bool:
        """Whether a node of the body makes the tensor, or one that reads nothing."""
        if tensor.trace is None or tensor.storage is not None:
            return False
        return tensor.trace[0] in self.own or not tensor.trace[0].inputs

    def nodes(self, results: Sequence[Tensor]) -> list[Node]:
        """The nodes of the body that results need, producers first."""

        def producers(tensors: Sequence[Tensor]) -> list[Node]:
            return [each.trace[0] for each in tensors if each.trace and self.is_inside(each)]

        return producers_first(producers(results), lambda node: producers(node.inputs))

    def own_sizes(self, results: Sequence[Tensor]) -> set[Var]:
        """The sizes that the body tells itself, as the trace calls them."""
        return {*data_sizes_read(results, self.nodes, (), self.within(""))}

    def within(self, prefix: str) -> Within:
        """What the body tells itself."""
        return Within(self.is_inside, prefix)

    def graph(self, results: Sequence[Tensor], captured: Tensors) -> FlowGraph:
        """What the body computes, still of the captured tensors themselves."""
        inputs = (*self.inputs, *captured)
        data_sizes = data_sizes_read(results, self.nodes, (), self.within(""))
        prefix = data_size_prefix(
            self.nodes([*results, *(tensor for tensor, _ in data_sizes.values())])
        )
        found, new = data_sizes_inside(results, inputs, self.within(prefix))
        outputs = (*(new.get(each, each) for each in results), *found)
        return FlowGraph(
            (new.get(each, each) for each in inputs), outputs, "body", data_sizes=found.values()
        )

    def body(self, results: Sequence[Tensor], captured: Tensors) -> Body:
        """The body: its inputs, what it captures, and between them nodes of its own."""
        begun = self.graph(results, captured)
        inside = [Tensor(each.type, each.device, name=each.name) for each in begun.inputs]
        new = dict(zip(begun.inputs, inside, strict=True))
        for node in begun.nodes:
            now = reading(node, tuple(new.get(each, each) for each in node.inputs))
            new.update(zip(node.outputs, now.outputs, strict=True))
        outputs = [new.get(each, each) for each in begun.outputs]
        return Body(begun.with_outputs(outputs, inside))


def listed(given: Any) -> list[Tensor]:
    """One tensor or several, as a list."""
    found = list(given) if isinstance(given, list | tuple) else [given]
    for each in found:
        if not isinstance(each, Tensor):
            raise BadArgument(f"a body gives tensors, not {type(each).__name__}")
    return found


def flag(x: Tensor) -> Tensor:
    """A condition of one element as a bool without axes."""
    return reshape(cast(x, boolean), ())


def symbols(*sizes: Size) -> set[Var]:
    """The symbols that sizes mention."""
    return {var for size in sizes if isinstance(size, Expr) for var in variables(size)}
