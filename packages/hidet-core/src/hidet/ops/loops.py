"""Control flow with Python functions for bodies: if_, loop, while_loop, scan.

A function is called once, on symbols; what it computes becomes a body. Tensors of outside that it
reads, weights too, become operands: nobody has to name them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hidet.compute.sizes import same
from hidet.errors import BadArgument, NotYet
from hidet.graph import Body, FlowGraph, Node, Tensor, apply_all, recording, tracing
from hidet.graph.body import told_prefix
from hidet.graph.guards import told_inside
from hidet.graph.known import known
from hidet.graph.rewrite import reading
from hidet.graph.told import Within, telling
from hidet.ir.expr import Var
from hidet.ir.order import producers_first
from hidet.ops.branch_sizes import Pair, shapes_of, symbols
from hidet.ops.cast import cast
from hidet.ops.control import TURN, If, Loop
from hidet.ops.create import full, size_value
from hidet.ops.index import take
from hidet.ops.scatter import index_put
from hidet.ops.shape import reshape
from hidet.ops.slicing import flip
from hidet.types import DType, Size, TensorType, boolean, i64

Tensors = tuple[Tensor, ...]


def if_(
    condition: Tensor,
    then: Callable[..., Any],
    otherwise: Callable[..., Any],
    *operands: Tensor,
) -> Any:
    """What `then(*operands)` gives where the one element of `condition` is true, else what
    `otherwise(*operands)` gives; only that one runs. Both give tensors of equal element types and
    ranks. Where their sizes differ, or are those of what a branch selects, each call reads them
    before the branch runs.

    A function that gives one tensor makes one, one that gives a list of them a tuple.
    """
    device, condition = condition.device, flag(condition)
    traces = [Trace([each.type for each in operands], device, f) for f in (then, otherwise)]
    given = [listed(each.given) for each in traces]

    def compute(pairs: Sequence[Pair]) -> Tensors:
        sizes = []
        for trace, each in zip(traces, zip(*pairs, strict=True), strict=True):
            with trace.going_on():
                sizes.append([size_value(size, device=device) for size in each])
        return branched(condition, operands, traces, sizes)

    shapes: tuple[tuple[Size, ...], ...] = ()
    if [form(each) for each in given[0]] == [form(each) for each in given[1]]:
        own = [each.own_sizes(to) for each, to in zip(traces, given, strict=True)]
        shapes = shapes_of(condition, given, own, compute)
    results = branched(condition, operands, traces, given, shapes)
    return results if isinstance(traces[0].given, list | tuple) else results[0]


def branched(
    condition: Tensor,
    operands: Tensors,
    traces: Sequence[Trace],
    results: Sequence[Sequence[Tensor]],
    shapes: tuple[tuple[Size, ...], ...] = (),
) -> Tensors:
    """Those results that the branch gives which is taken."""
    pairs = [*zip(traces, results, strict=True)]
    captured = tuple(dict.fromkeys(t for each, to in pairs for t in each.captured(to)))
    first, second = (each.body(to, captured) for each, to in pairs)
    return apply_all(
        If,
        condition,
        (*operands, *captured),
        branches=(first, second),
        shapes=shapes,
        device=condition.device,
    )


def loop(
    body: Callable[..., tuple[Tensor | None, Sequence[Tensor], Sequence[Tensor]]],
    carried: Sequence[Tensor],
    *,
    trips: Tensor | Size | None = None,
    go_on: Tensor | None = None,
    most: Size | None = None,
    device: str | None = None,
) -> tuple[Tensors, Tensors, Tensor]:
    """`go_on, carried, rows = body(turn, *carried)` in turns, fewer than `trips` and as long as
    `go_on` holds; the last carried tensors, the rows of all turns stacked, and how many there were.

    A body gives None for `go_on` if only `trips` ends the loop. Where trips are no size, `most` is
    a bound of them that stacks get as their first axis; what no turn has written there is zero.
    `device` is where turns are counted; by default where the tensors given here are.
    """
    tensors = [each for each in (*carried, trips, go_on) if isinstance(each, Tensor)]
    device = device or (tensors[0].device if tensors else "cpu")
    limit = most if trips is None or isinstance(trips, Tensor) else trips
    trace = Trace([TURN, *(each.type for each in carried)], device, body)
    again, following, rows = trace.given
    if is_true(go_on) and is_true(again):
        again = go_on = None
    if (again is None) != (go_on is None):
        raise BadArgument(
            "a loop has a condition before its first turn and after each, or neither",
            help="give go_on, and let the body give it as its first result",
        )
    if not symbols(*(size for row in rows for size in row.shape)).isdisjoint(trace.own_sizes(rows)):
        raise NotYet(
            "the rows of turns have sizes that data tell in each turn",
            help="pad them to one size in the body",
        )
    stacks = [empty_stack(each.type, limit, device) for each in rows]
    inside = trace.add([each.type for each in stacks])
    with trace.going_on():
        flags = [] if again is None else [flag(again)]
        turn = reshape(trace.inputs[0], (1,))
        written = [put(s, turn, row) for s, row in zip(inside, rows, strict=True)]
    results = [*flags, *listed(following), *written]
    captured = trace.captured(results)
    *found, turns = apply_all(
        Loop,
        None if go_on is None else flag(go_on),
        number(trips) if isinstance(trips, Tensor) else None,
        (*carried, *stacks),
        captured,
        body=trace.body(results, captured),
        count=limit,
        device=device,
    )
    return tuple(found[: len(carried)]), tuple(found[len(carried) :]), turns


def while_loop(
    condition: Callable[..., Tensor], body: Callable[..., Any], *carried: Tensor
) -> Tensors:
    """`carried = body(*carried)` in turns, as long as `condition(*carried)` holds before one."""

    def turn(number: Tensor, *now: Tensor) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
        after = listed(body(*now))
        return condition(*after), after, ()

    return loop(turn, carried, go_on=condition(*carried))[0]


def scan(
    body: Callable[..., tuple[Any, Any]],
    carried: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    length: Size | None = None,
    reverse: bool = False,
) -> tuple[Tensors, Tensors]:
    """`carried, rows = body(*carried, *slices)` for each index of the first axis of `inputs`, of
    which slices have one less; the last carried tensors, and the rows of all turns stacked.

    `length` says how many turns there are where there are no inputs. In `reverse` the last index
    comes first, and rows lie where the slices do.
    """
    if not inputs and length is None:
        raise BadArgument("a scan of nothing has no length", help="give inputs or a length")
    turns = inputs[0].shape[0] if inputs else length
    assert turns is not None
    if not all(same(each.shape[0], turns) for each in inputs):
        lengths = ", ".join(str(each.shape[0]) for each in inputs)
        raise BadArgument(f"a scan goes through inputs of one length, not of {lengths}")
    ahead = [flip(each, 0) for each in inputs] if reverse else inputs

    def turn(at: Tensor, *now: Tensor) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        following, rows = body(*now, *(take(each, (at,)) for each in ahead))
        return None, listed(following), listed(rows)

    device = ahead[0].device if ahead else None
    last, stacks, _ = loop(turn, carried, trips=turns, device=device)
    return last, tuple(flip(each, 0) for each in stacks) if reverse else stacks


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
        told = telling(results, self.nodes, (), self.within(""))
        found: dict[Tensor, None] = {}
        seen = set(self.inputs)
        waiting = [*reversed(results), *(tensor for tensor, _ in told.values())]
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
        return {*telling(results, self.nodes, (), self.within(""))}

    def within(self, prefix: str) -> Within:
        """What the body tells itself."""
        return Within(self.is_inside, prefix)

    def graph(self, results: Sequence[Tensor], captured: Tensors) -> FlowGraph:
        """What the body computes, still of the captured tensors themselves."""
        inputs = (*self.inputs, *captured)
        told = telling(results, self.nodes, (), self.within(""))
        prefix = told_prefix(self.nodes([*results, *(tensor for tensor, _ in told.values())]))
        found, new = told_inside(results, inputs, self.within(prefix))
        outputs = (*(new.get(each, each) for each in results), *found)
        return FlowGraph(inputs, outputs, "body", told=found.values())

    def body(self, results: Sequence[Tensor], captured: Tensors) -> Body:
        """The body: its inputs, what it captures, and between them nodes of its own."""
        inside = {each: Tensor(each.type, each.device, name=each.name) for each in captured}
        begun = self.graph(results, captured)
        new = dict(inside)
        for node in begun.nodes:
            now = reading(node, tuple(new.get(each, each) for each in node.inputs))
            new.update(zip(node.outputs, now.outputs, strict=True))
        outputs = [new.get(each, each) for each in begun.outputs]
        return Body(begun.with_outputs(outputs, (*self.inputs, *inside.values())))


def listed(given: Any) -> list[Tensor]:
    """One tensor or several, as a list."""
    found = list(given) if isinstance(given, list | tuple) else [given]
    for each in found:
        if not isinstance(each, Tensor):
            raise BadArgument(f"a body gives tensors, not {type(each).__name__}")
    return found


def form(tensor: Tensor) -> tuple[DType, int]:
    """What is alike of results that branches give: the element type and the rank."""
    return tensor.dtype, tensor.ndim


def is_true(condition: Tensor | None) -> bool:
    """Whether a condition is known to hold, as one that nobody gives does."""
    elements = None if condition is None else known(condition)
    return condition is None or (elements is not None and elements.reshape(-1)[0] is True)


def flag(x: Tensor) -> Tensor:
    """A condition of one element as a bool without axes."""
    return reshape(cast(x, boolean), ())


def number(x: Tensor) -> Tensor:
    """A number of turns as an i64 without axes."""
    return reshape(cast(x, i64), ())


def empty_stack(row: TensorType, count: Size | None, device: str) -> Tensor:
    """Where rows of all turns come together; zeros at first."""
    if count is None:
        raise BadArgument(
            "a loop whose turns nobody can bound has no place for the rows of all of them",
            help="say how many there are at most: most=...",
        )
    zero = False if row.dtype.is_bool else 0
    with tracing():  # of a size that only a call tells nothing can be made at once
        return full((count, *row.shape), zero, row.dtype, device=device)


def put(rows: Tensor, turn: Tensor, row: Tensor) -> Tensor:
    """The rows with one of them written."""
    return index_put(rows, (turn,), reshape(row, (1, *row.shape)), distinct=True)
