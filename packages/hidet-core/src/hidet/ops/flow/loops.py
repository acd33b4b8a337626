"""Loops whose bodies are Python functions: loop, while_loop, scan.

A function is called once, on symbols; what it computes becomes a body. Tensors of outside that it
reads, weights too, become operands: nobody has to name them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hidet.compute.sizes import agree
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor, apply_all, tracing
from hidet.graph.known import known
from hidet.ops.elementwise.binary import maximum
from hidet.ops.flow.control import ITERATION, Loop
from hidet.ops.flow.trace import Tensors, Trace, flag, listed, symbols
from hidet.ops.indexing.index import take
from hidet.ops.indexing.scatter import index_put
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import full
from hidet.ops.tensors.shape import reshape
from hidet.ops.tensors.size_from import size_from
from hidet.ops.tensors.slicing import flip
from hidet.types import Size, TensorType, i64


def loop(
    body: Callable[..., tuple[Tensor | None, Sequence[Tensor], Sequence[Tensor]]],
    carried: Sequence[Tensor],
    *,
    trips: Tensor | Size | None = None,
    go_on: Tensor | None = None,
    most: Size | None = None,
    device: str | None = None,
) -> tuple[Tensors, Tensors, Tensor]:
    """Repeat `go_on, carried, rows = body(iteration, *carried)` at most `trips` times, and as long
    as `go_on` holds. The results are the last carried tensors, the rows of all iterations stacked
    along a new first axis, and the number of iterations.

    A body gives None for `go_on` if only `trips` ends the loop. Where `trips` is a tensor or None,
    `most` is an upper bound of it, which becomes the size of the stacks; rows that no iteration
    wrote are zero. Without `most` each call reads the number of rows first: it is `trips`, or is
    counted by a loop of its own that computes everything but the rows. `device` is where iterations
    are counted, by default where the given tensors are. Raises BadArgument if nothing ends the
    loop, NotYet if the sizes of rows differ from one iteration to the next.
    """
    tensors = [each for each in (*carried, trips, go_on) if isinstance(each, Tensor)]
    device = device or (tensors[0].device if tensors else "cpu")
    limit = most if trips is None or isinstance(trips, Tensor) else trips
    trace = Trace([ITERATION, *(each.type for each in carried)], device, body)
    again, following, rows = trace.given
    if is_true(go_on) and is_true(again):
        again = go_on = None
    if (again is None) != (go_on is None):
        raise BadArgument(
            "a loop has a condition before its first iteration and after each, or neither",
            help="give go_on, and let the body give it as its first result",
        )
    if not symbols(*(size for row in rows for size in row.shape)).isdisjoint(trace.own_sizes(rows)):
        raise NotYet(
            "the rows of iterations have data-dependent sizes",
            help="pad them to one size in the body",
        )
    with trace.going_on():
        flags = [] if again is None else [flag(again)]
    given = listed(following)
    if rows and limit is None:
        limit = iteration_count(trace, carried, [*flags, *given], trips, go_on)
        trips, go_on, flags = None, None, []
    stacks = [empty_stack(each.type, limit, device) for each in rows]
    inside = trace.add([each.type for each in stacks])
    with trace.going_on():
        iteration = reshape(trace.inputs[0], (1,))
        written = [put(s, iteration, row) for s, row in zip(inside, rows, strict=True)]
    results = [*flags, *given, *written]
    *found, iterations = repeated(trace, (*carried, *stacks), results, trips, go_on, limit)
    return tuple(found[: len(carried)]), tuple(found[len(carried) :]), iterations


def repeated(
    trace: Trace,
    carried: Sequence[Tensor],
    results: Sequence[Tensor],
    trips: Tensor | Size | None,
    go_on: Tensor | None,
    limit: Size | None = None,
) -> Tensors:
    """What iterations of a body carry to the end, and how many there were."""
    captured = trace.captured(results)
    return apply_all(
        Loop,
        None if go_on is None else flag(go_on),
        number(trips) if isinstance(trips, Tensor) else None,
        (*carried,),
        captured,
        body=trace.body(results, captured),
        count=limit,
        device=trace.device,
    )


def iteration_count(
    trace: Trace,
    carried: Sequence[Tensor],
    results: Sequence[Tensor],
    trips: Tensor | Size | None,
    go_on: Tensor | None,
) -> Size:
    """How many iterations a loop has, which each call reads; BadArgument if nothing ends it."""
    if go_on is not None:
        *_, iterations = repeated(trace, carried, results, trips, go_on)
    elif isinstance(trips, Tensor):
        iterations = maximum(number(trips), 0)
    else:
        raise BadArgument(
            "nothing ends the loop", help="give trips, most, or a condition that ends it"
        )
    return size_from(iterations, "iterations")


def while_loop(
    condition: Callable[..., Tensor], body: Callable[..., Any], *carried: Tensor
) -> Tensors:
    """Repeat `carried = body(*carried)` while `condition(*carried)` holds: the last `carried`."""

    def iteration(
        number: Tensor, *now: Tensor
    ) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
        after = listed(body(*now))
        return condition(*after), after, ()

    return loop(iteration, carried, go_on=condition(*carried))[0]


def scan(
    body: Callable[..., tuple[Any, Any]],
    carried: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    length: Size | None = None,
    reverse: bool = False,
) -> tuple[Tensors, Tensors]:
    """Repeat `carried, rows = body(*carried, *slices)` for each index of the first axis of
    `inputs`, which the slices lack. The results are the last carried tensors, and all rows stacked.

    `length` is the number of iterations where there are no inputs. With `reverse` the last index
    comes first; the rows of an index still lie where its slices do. Raises BadArgument if inputs
    differ in length, or have none.
    """
    if not inputs and length is None:
        raise BadArgument("a scan of nothing has no length", help="give inputs or a length")
    iterations = inputs[0].shape[0] if inputs else length
    assert iterations is not None
    if not all(agree(each.shape[0], iterations) for each in inputs):
        lengths = ", ".join(str(each.shape[0]) for each in inputs)
        raise BadArgument(f"a scan goes through inputs of one length, not of {lengths}")
    ahead = [flip(each, 0) for each in inputs] if reverse else inputs

    def iteration(at: Tensor, *now: Tensor) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        following, rows = body(*now, *(take(each, (at,)) for each in ahead))
        return None, listed(following), listed(rows)

    device = ahead[0].device if ahead else None
    last, stacks, _ = loop(iteration, carried, trips=iterations, device=device)
    return last, tuple(flip(each, 0) for each in stacks) if reverse else stacks


def is_true(condition: Tensor | None) -> bool:
    """Whether a condition is known to hold, as one that nobody gives does."""
    elements = None if condition is None else known(condition)
    return condition is None or (elements is not None and elements.reshape(-1)[0] is True)


def number(x: Tensor) -> Tensor:
    """A number of iterations as an i64 without axes."""
    return reshape(cast(x, i64), ())


def empty_stack(row: TensorType, count: Size | None, device: str) -> Tensor:
    """Where rows of all iterations come together; zeros at first."""
    assert count is not None
    zero = False if row.dtype.is_bool else 0
    with tracing():  # of a size that only a call tells nothing can be made at once
        return full((count, *row.shape), zero, row.dtype, device=device)


def put(rows: Tensor, iteration: Tensor, row: Tensor) -> Tensor:
    """The rows with one of them written."""
    return index_put(rows, (iteration,), reshape(row, (1, *row.shape)), distinct=True)
