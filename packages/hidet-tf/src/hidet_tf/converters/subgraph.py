"""A function that is an attribute of an operator, as converters see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from hidet_tf.converters.variable import Variable


class Amount(Protocol):
    """An integer that all iterations share: the value number `at` that loops carry, or `number`."""

    @property
    def at(self) -> int | None: ...
    @property
    def number(self) -> int: ...


class Bound(Protocol):
    """A loop goes on as long as the value number `counter` is below a limit, or above it if not
    `is_upper`. `inclusive`: an iteration in which both are equal runs too."""

    @property
    def counter(self) -> int: ...
    @property
    def limit(self) -> Amount: ...
    @property
    def is_upper(self) -> bool: ...
    @property
    def inclusive(self) -> int: ...


class Induction(Protocol):
    """What iterations of a loop do with the values that they carry, by number."""

    @property
    def invariant(self) -> Collection[int]:
        """Those that each iteration hands on as it gets them."""

    @property
    def steps(self) -> Mapping[int, Amount]:
        """The integers that each iteration adds an amount to, and that amount."""

    @property
    def conditions(self) -> Sequence[Bound | None]:
        """What has to hold before each iteration; None for what is no bound of a counter."""


class Subgraph(Protocol):
    """It is converted when `inline` is called, for these values, into the graph around it."""

    def inline(self, *given: Any) -> tuple[Any, ...]:
        """The results for these values of the inputs."""

    def attempt(self) -> AbstractContextManager[None]:
        """In this block graphs are converted as bodies; if that fails, nothing is left of it."""

    def look(self) -> AbstractContextManager[None]:
        """In this block graphs are converted only to see what they give: nothing is left of it."""

    def assigned(self, *given: Any) -> Sequence[Variable]:
        """The variables that the graph assigns, given these values."""

    def induction(self, cond: Any) -> Induction:
        """What iterations of this graph, as long as `cond` says, do with the values they carry."""
