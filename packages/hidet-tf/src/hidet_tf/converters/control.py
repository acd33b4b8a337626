"""Control flow: choices and loops, taken into the graph where their course is known while
importing, else operators of the graph with their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.graph.known import known
from hidet_tf.converters.lists import TensorList
from hidet_tf.converters.subgraph import Subgraph
from hidet_tf.converters.table import tf
from hidet_tf.converters.variable import Variable

Branch = Callable[[], tuple[Any, ...]]


@tf("If", "StatelessIf")
def choose(
    condition: Tensor, given: Sequence[Any], *, then_branch: Subgraph, else_branch: Subgraph
) -> tuple[Any, ...]:
    """What one of two graphs gives: the first one where the condition is not 0."""
    found = truth(condition)
    if found is not None:
        return (then_branch if found else else_branch).inline(*given)
    with then_branch.attempt():
        written = Written.by((then_branch, else_branch), given)
        branches = (partial(written.inline, each, given) for each in (then_branch, else_branch))
        return written.keep(branched(condition, *branches))


@tf("Case", "StatelessCase")
def case(index: Tensor, given: Sequence[Any], *, branches: Sequence[Subgraph]) -> tuple[Any, ...]:
    """What the graph of a number gives; the last one where there is none."""
    there = known(index)
    if there is not None and there.flat[0] is not None:
        number = there.flat[0]
        chosen = branches[number if 0 <= number < len(branches) else -1]
        return chosen.inline(*given)

    def of(number: int) -> tuple[Any, ...]:
        one = partial(written.inline, branches[number], given)
        if number == len(branches) - 1:
            return one()
        return branched(ops.equal(index, number), one, partial(of, number + 1))

    with branches[0].attempt():
        written = Written.by(branches, given)
        return written.keep(of(0))


@dataclass(frozen=True)
class Written:
    """The variables that graphs assign: what these are then, is further results of the graphs."""

    variables: Sequence[Variable]
    before: Sequence[Tensor]

    @classmethod
    def by(cls, graphs: Iterable[Subgraph], given: Sequence[Any]) -> Written:
        """Those that one of these graphs assigns, and what they are before."""
        found = dict.fromkeys(each for graph in graphs for each in graph.assigned(*given))
        return cls([*found], [each.tensor() for each in found])

    def inline(
        self, graph: Subgraph, given: Sequence[Any], values: Sequence[Tensor] | None = None
    ) -> tuple[Any, ...]:
        """What a graph gives, and what the variables are after it, where they are `values` before
        it (by default what they were before all)."""
        self.put(self.before if values is None else values)
        found = graph.inline(*given)
        return (*found, *(each.tensor() for each in self.variables))

    def put(self, values: Sequence[Tensor]) -> None:
        """Let the variables be these values."""
        for variable, value in zip(self.variables, values, strict=True):
            variable.assign(value)

    def keep(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let the variables be the last of these results; the others."""
        count = len(results) - len(self.variables)
        self.put(results[count:])
        return results[:count]


def truth(condition: Tensor) -> bool | None:
    """What a condition is, as far as it is known."""
    elements = known(condition)
    found = None if elements is None else elements.reshape(-1)[0]
    return None if found is None else bool(found)


def branched(condition: Tensor, then: Branch, otherwise: Branch) -> tuple[Any, ...]:
    """What the one or the other function gives, as an operator with two bodies.

    Values that are no tensors, such as handles, have to be the same in both.
    """
    forms: list[tuple[Any, ...]] = []

    def branch(function: Branch) -> list[Tensor]:
        forms.append(function())
        return flat(forms[-1])

    results = ops.if_(condition, lambda: branch(then), lambda: branch(otherwise))
    first, second = forms
    for one, other in zip(first, second, strict=True):
        if type(one) is not type(other) or not (is_carried(one) or one is other):
            raise NotYet("branches that give different handles, or lists in one of them only")
    return tuple(like(first, iter(results)))


def is_carried(value: Any) -> bool:
    """Whether a value is a tensor, or a list that is one."""
    return isinstance(value, Tensor) or (isinstance(value, TensorList) and value.rows is not None)


def flat(values: Sequence[Any]) -> list[Tensor]:
    """The tensors of values, lists as the stacks that they are."""
    rows = (each.rows if isinstance(each, TensorList) else each for each in values)
    return [each for each in rows if isinstance(each, Tensor)]


def like(values: Sequence[Any], tensors: Iterator[Tensor]) -> Iterator[Any]:
    """Values with other tensors in them."""
    for each in values:
        if not is_carried(each):
            yield each
        else:
            yield next(tensors) if isinstance(each, Tensor) else each.of(next(tensors))
