"""PyTorch's control flow: branches, loops and scans, with their graphs as bodies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch as pytorch

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import require, torch

higher = pytorch.ops.higher_order


class Subgraph(Protocol):
    """A graph among the arguments."""

    def inline(self, *given: Any) -> list[Any]:
        """The results for these values of the inputs."""

    def attempt(self) -> AbstractContextManager[None]:
        """In this block graphs are converted as bodies; if that fails, nothing is left of it."""


def tensors(values: Sequence[Any], what: str) -> list[Tensor]:
    """The values, which have to be tensors: numbers that change are PyTorch's."""
    found = [each for each in values if isinstance(each, Tensor)]
    require(len(found) == len(values), f"{what} that is no tensor")
    return found


@torch(higher.cond)
def cond(
    predicate: Any, then: Subgraph, otherwise: Subgraph, operands: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """What one of two graphs gives."""
    if isinstance(predicate, bool | int):
        return tuple((then if predicate else otherwise).inline(*operands))
    require(isinstance(predicate, Tensor), "a branch by sizes that only a call tells")

    def branch(graph: Subgraph) -> list[Tensor]:
        return tensors(graph.inline(*operands), "a result of a branch")

    with then.attempt():
        return tuple(ops.if_(predicate, lambda: branch(then), lambda: branch(otherwise)))


@torch(higher.while_loop)
def while_loop(
    condition: Subgraph, body: Subgraph, carried: Sequence[Any], more: Sequence[Any] = ()
) -> tuple[Tensor, ...]:
    """Iterations of a graph as long as another one says."""

    def goes_on(*now: Tensor) -> Tensor:
        (found,) = tensors(condition.inline(*now, *more), "a condition of iterations")
        return found

    def iteration(*now: Tensor) -> list[Tensor]:
        return tensors(body.inline(*now, *more), "a value carried")

    with body.attempt():
        return ops.while_loop(goes_on, iteration, *tensors(carried, "a value carried"))


@torch(higher.scan)
def scan(
    combine: Subgraph, init: Sequence[Tensor], xs: Sequence[Tensor], more: Sequence[Any] = ()
) -> tuple[Tensor, ...]:
    """Iterations of a graph over slices of tensors: what is carried, then all iterations' rows."""

    def iteration(*given: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        found = tensors(combine.inline(*given, *more), "a result of a scan")
        return found[: len(init)], found[len(init) :]

    with combine.attempt():
        last, rows = ops.scan(iteration, tensors(init, "a value carried"), xs)
    return (*last, *rows)


@torch(higher.associative_scan)
def associative_scan(
    combine: Subgraph, xs: Sequence[Tensor], more: Sequence[Any] = ()
) -> tuple[Tensor, ...]:
    """What a graph makes of all slices up to each one, one after the other."""

    def iteration(*given: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        found = tensors(combine.inline(*given, *more), "a result of a scan")
        return found, found

    first = [ops.select(each, 0, 0) for each in xs]
    with combine.attempt():
        _, rows = ops.scan(iteration, first, [ops.slice(each, 0, 1) for each in xs])
    return tuple(
        ops.concat([ops.unsqueeze(one, 0), others], 0)
        for one, others in zip(first, rows, strict=True)
    )


@torch(higher.map_impl)
def map_(graph: Subgraph, xs: Sequence[Tensor], more: Sequence[Any] = ()) -> tuple[Tensor, ...]:
    """What a graph gives of each slice, stacked."""

    def iteration(*given: Tensor) -> tuple[tuple[()], list[Tensor]]:
        return (), tensors(graph.inline(*given, *more), "a result of a map")

    with graph.attempt():
        return tuple(ops.scan(iteration, (), xs)[1])
