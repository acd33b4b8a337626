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
    a function written for the framework's signature. `since` is the first version of the operator
    that a converter takes; a key has one converter for each `since`.
    """

    def __init__(self, frontend: str) -> None:
        self.frontend = frontend
        self._table: dict[K, dict[int, Callable[..., Any]]] = {}

    def rows(self, table: Mapping[K, Callable[..., Any]], since: int = 0) -> None:
        """File every row of `table`."""
        for key, function in table.items():
            self._file(key, since, function)

    def __call__(self, *keys: K, since: int = 0) -> Callable[[F], F]:
        """File the decorated function under each of `keys`."""

        def register(function: F) -> F:
            for key in keys:
                self._file(key, since, function)
            return function

        return register

    def find(self, key: K, version: int = 0) -> Callable[..., Any] | None:
        """The converter of `key` with the greatest `since` up to `version`; None without one."""
        rows = self._table.get(key)
        if rows is None:
            return None
        fitting = [since for since in rows if since <= version]
        return rows[max(fitting)] if fitting else None

    def versions(self, key: K) -> list[int]:
        """The versions since which there is another converter of `key`, in order."""
        return sorted(self._table.get(key, ()))

    def __contains__(self, key: K) -> bool:
        return key in self._table

    def __iter__(self) -> Iterator[K]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def _file(self, key: K, since: int, function: Callable[..., Any]) -> None:
        rows = self._table.setdefault(key, {})
        if since in rows:
            first, second = (f"{f.__module__}.{f.__name__}" for f in (rows[since], function))
            raise BadArgument(f"{self.frontend} converts {key} by {first} and by {second}")
        rows[since] = function
