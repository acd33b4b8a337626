"""Loops: operators of the graph with their body, or iterations taken into the graph one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet import ops
from hidet.compute.sizes import same
from hidet.errors import HidetError, InternalError, NeedsValue, NotYet
from hidet.graph import Tensor
from hidet.graph.known import known, needs_value
from hidet.types import Size, i64
from hidet_tf.converters.control import Written, flat, like, truth
from hidet_tf.converters.lists import TensorList
from hidet_tf.converters.subgraph import Amount, Bound, Subgraph
from hidet_tf.converters.table import tf

ITERATIONS = 1024
"""More iterations are not taken into the graph one by one."""


@tf("While", "StatelessWhile")
def loop(given: Sequence[Any], *, cond: Subgraph, body: Subgraph) -> tuple[Any, ...]:
    """What iterations of a graph carry to the end, as long as another one says before each.

    Where iterations carry tensors of other shapes or longer lists, they are taken into the graph
    one by one; how many there are has to be known then: NeedsValue.
    """
    with body.attempt():
        iterations = Iterations(given, cond, body)
    try:
        with body.attempt():
            return iterations.written.keep(iterations.once())
    except InternalError:
        raise
    except HidetError as error:
        if isinstance(error, NeedsValue) and error.inputs:
            raise
        try:
            with body.attempt():
                return iterations.written.keep(iterations.one_by_one())
        except NeedsValue:
            raise error from None


class Iterations:
    """A loop in either form."""

    def __init__(self, given: Sequence[Any], cond: Subgraph, body: Subgraph) -> None:
        self.given, self.count, self.cond, self.body = list(given), len(given), cond, body
        found = body.induction(cond)
        amounts = {at: self.known(each) for at, each in found.steps.items()}
        self.steps = {at: int(each) for at, each in amounts.items() if isinstance(each, int)}
        """What iterations add to the values that count."""
        self.bounds = [each for each in found.conditions if each and self.is_reached(each)]
        self.is_counted = len(self.bounds) == len(found.conditions)
        """Whether counters alone end the loop."""
        counting = [*found.invariant, *self.steps]
        self.carried = [at for at in range(self.count) if at not in counting]
        """The numbers of the values that iterations change otherwise."""
        self.written = Written.by([body], self.symbols())
        self.carried += range(self.count, self.count + len(self.written.before))
        self.given += self.written.before

    def iteration(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values after an iteration: those of the graph, then the variables that it assigns."""
        return self.written.inline(self.body, values[: self.count], values[self.count :])

    def known(self, amount: Amount) -> Tensor | Size:
        """An integer that all iterations share, as a size if it is known."""
        return amount.number if amount.at is None else self.number(self.given[amount.at])

    def is_reached(self, bound: Bound) -> bool:
        """Whether a counter goes towards its limit."""
        step = self.steps.get(bound.counter, 0)
        return step > 0 if bound.is_upper else step < 0

    def once(self) -> tuple[Any, ...]:
        """The graph as the body of an operator."""
        start = self.with_rows()
        values = [start[at] for at in self.carried]
        trips = self.trips()

        def body(number: Tensor, *now: Tensor) -> tuple[Any, Sequence[Tensor], tuple[()]]:
            before = self.counted(start, number)
            for at, value in zip(self.carried, like(values, iter(now)), strict=True):
                before[at] = value
            after = self.iteration(before)
            again = None if self.is_counted else self.goes_on(after)
            return again, flat(require_alike(values, [after[at] for at in self.carried])), ()

        first = None if self.is_counted else self.goes_on(start)
        last, _, iterations = ops.loop(
            body, flat(values), trips=trips, go_on=first, device=self.device()
        )
        results = self.counted(start, iterations)
        for at, value in zip(self.carried, like(values, iter(last)), strict=True):
            results[at] = value
        return tuple(results)

    def goes_on(self, values: Sequence[Any]) -> Tensor:
        """Whether there is an iteration with these values."""
        self.written.put(values[self.count :])
        (found,) = self.cond.inline(*values[: self.count])
        assert isinstance(found, Tensor)
        return found

    def counted(self, start: Sequence[Any], number: Tensor) -> list[Any]:
        """The values before an iteration, those that count as it has them."""
        found = list(start)
        for at, step in self.steps.items():
            first = start[at]
            iterations = ops.cast(number, first.dtype)
            found[at] = ops.add(first, ops.multiply(iterations, step) if step != 1 else iterations)
        return found

    def device(self) -> str:
        """Where iterations are counted."""
        return next((each.device for each in self.given if isinstance(each, Tensor)), "cpu")

    # ---- lists ----------------------------------------------------------------------------------

    def with_rows(self) -> list[Any]:
        """The values before the first iteration; lists of which iterations set the first element
        have rows, of the shape that iterations give these."""
        found = list(self.given)
        bare = [
            at
            for at in self.carried
            if isinstance(found[at], TensorList) and found[at].rows is None
        ]
        if bare:
            with self.body.look():
                after = self.iteration(self.symbols())
        for at in bare:
            rows = after[at].rows
            found[at] = found[at].of(found[at].made(None if rows is None else rows.shape[1:]))
        return found

    def symbols(self) -> list[Any]:
        """Values like those that an iteration gets."""

        def symbol(tensor: Tensor) -> Tensor:
            return Tensor(tensor.type, tensor.device)

        changing = {*self.carried, *self.steps}
        tensors = (symbol(each) for at in changing for each in flat([self.given[at]]))
        made = dict(zip(changing, like([self.given[at] for at in changing], tensors), strict=True))
        return [made.get(at, each) for at, each in enumerate(self.given)]

    # ---- how many iterations there are
    # ---------------------------------------------------------------

    def trips(self) -> Tensor | Size | None:
        """How many iterations there are at most, by what bounds counters; None if nothing does."""
        found: list[Tensor | Size] = []
        for each in map(self.until, self.bounds):
            if not any(is_same(each, other) for other in found):
                found.append(each)
        if len(found) < 2:
            return found[0] if found else None
        least, *more = (self.tensor(each) for each in found)
        for other in more:
            least = ops.minimum(least, other)
        return self.number(least)

    def until(self, bound: Bound) -> Tensor | Size:
        """How many iterations there are until a counter has reached its limit."""
        step = self.steps[bound.counter]
        start, limit = self.number(self.given[bound.counter]), self.known(bound.limit)
        if isinstance(start, Tensor) or isinstance(limit, Tensor):
            start, limit = self.tensor(start), self.tensor(limit)
            distance = ops.subtract(limit, start) if step > 0 else ops.subtract(start, limit)
            more = ops.add(distance, abs(step) - 1 + bound.inclusive)
            return ops.floor_divide(more, abs(step))
        apart = limit - start if step > 0 else start - limit
        return (apart + abs(step) - 1 + bound.inclusive) // abs(step)

    def number(self, tensor: Tensor) -> Tensor | Size:
        """The one element of a tensor, as a size if it is known."""
        elements = known(tensor)
        found: Size | None = None if elements is None else elements.flat[0]
        return tensor if found is None else found

    def tensor(self, number: Tensor | Size) -> Tensor:
        """A number as a tensor."""
        if isinstance(number, Tensor):
            return ops.cast(number, i64)
        return ops.size_value(number, device=self.device())

    # ---- one by one -----------------------------------------------------------------------------

    def one_by_one(self) -> tuple[Any, ...]:
        """All iterations taken into the graph around the loop; NeedsValue if they cannot be
        counted."""
        values: Sequence[Any] = self.given
        for _ in range(ITERATIONS):
            condition = self.goes_on(values)
            again = truth(condition)
            if again is None:
                raise needs_value(condition)
            if not again:
                return tuple(values)
            values = self.iteration(values)
        raise NotYet(f"more than {ITERATIONS} iterations of which each is another graph")


def require_alike(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
    """What iterations carry; NotYet unless lists stay lists with rows, and handles what they
    are."""
    for one, other in zip(before, after, strict=True):
        if type(one) is not type(other) or len(flat([one])) != len(flat([other])):
            raise NotYet("a loop that carries other kinds of values on than it gets")
        if not flat([one]) and one is not other:
            raise NotYet("a loop that changes what a handle stands for")
    return after


def is_same(one: Tensor | Size, other: Tensor | Size) -> bool:
    """Whether two numbers of iterations are known to be equal."""
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return one is other
    return same(one, other) is True
