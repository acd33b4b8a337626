"""Tuning spaces as data: a frozen dataclass whose fields list their choices.

@dataclass(frozen=True)
class Tile:
    depth: int = choice(8, 16, 32)

A point of a space is one instance; points are JSON both ways, so that records of measurements keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, asdict, field, fields
from functools import cache
from itertools import product
from typing import Any, ClassVar, Protocol, TypeVar

from hidet.errors import BadArgument


class Point(Protocol):
    """A point of a space: a frozen dataclass instance."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


S = TypeVar("S", bound=Point)


def choice(*values: Any) -> Any:
    """A field of a space; the first value is its default."""
    return field(default=values[0], metadata={"choices": values})


def points(space: type[S]) -> Iterator[S]:
    """Every point of `space`, the default one first."""
    return iter(listed(space))


@cache
def listed(space: Any) -> tuple[Any, ...]:
    """The points, made once: each operator of a graph looks through them."""
    names = [each.name for each in fields(space)]
    choices = [each.metadata["choices"] for each in fields(space)]
    return tuple(space(**dict(zip(names, each, strict=True))) for each in product(*choices))


def to_json(point: Point) -> dict[str, Any]:
    """A point as JSON-able data."""
    return asdict(point)


def from_json(space: type[S], data: dict[str, Any]) -> S:
    """The point of `space` that `data` describes; BadArgument if it is none."""
    wanted = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    for point in points(space):
        if asdict(point) == wanted:
            return point
    raise BadArgument(f"{data} is no point of {space.__name__}")
