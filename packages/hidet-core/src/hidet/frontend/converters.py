"""A frontend's table from its framework's operators to functions on hidet tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from hidet.errors import BadArgument

K = TypeVar("K")
F = TypeVar("F", bound=Callable[..., Any])


class Converters(Generic[K]):
    """Converters by the framework's operator; looking one up imports nothing.

    `table.rows({key: function})` files functions whose signatures agree already, `@table(key, ...)`
    a function written for the framework's signature. A key has one converter.
    """

    def __init__(self, frontend: str) -> None:
        self.frontend = frontend
        self._table: dict[K, Callable[..., Any]] = {}

    def rows(self, table: Mapping[K, Callable[..., Any]]) -> None:
        """File every row of `table`."""
        for key, function in table.items():
            self._file(key, function)

    def __call__(self, *keys: K) -> Callable[[F], F]:
        """File the decorated function under each of `keys`."""

        def register(function: F) -> F:
            for key in keys:
                self._file(key, function)
            return function

        return register

    def find(self, key: K) -> Callable[..., Any] | None:
        """The converter of `key`, None if there is none."""
        return self._table.get(key)

    def __contains__(self, key: K) -> bool:
        return key in self._table

    def __iter__(self) -> Iterator[K]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def _file(self, key: K, function: Callable[..., Any]) -> None:
        if key in self._table:
            first, second = (f"{f.__module__}.{f.__name__}" for f in (self._table[key], function))
            raise BadArgument(f"{self.frontend} converts {key} by {first} and by {second}")
        self._table[key] = function
