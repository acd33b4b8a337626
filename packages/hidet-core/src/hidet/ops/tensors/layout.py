"""Where the channels of an image are: before its places or after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def laid(channels_last: bool, n: T, c: T, places: Sequence[T]) -> tuple[T, ...]:
    """The shape or index of an image: [n, c, ...] or, with channels last, [n, ..., c]."""
    return (n, *places, c) if channels_last else (n, c, *places)


def taken_apart(channels_last: bool, shape: Sequence[T]) -> tuple[T, T, tuple[T, ...]]:
    """The first axis, the channels and the places of a shape or index: the reverse of `laid`."""
    n, *rest = shape
    c = rest.pop(-1 if channels_last else 0)
    return n, c, tuple(rest)


def channels_axis(channels_last: bool, rank: int) -> int:
    """Which of `rank` axes runs along the channels."""
    return rank - 1 if channels_last else 1


def to_last(rank: int) -> tuple[int, ...]:
    """The order of axes that brings the channels from axis 1 to the end."""
    return (0, *range(2, rank), 1)


def to_second(rank: int) -> tuple[int, ...]:
    """The order of axes that brings the channels from the end to axis 1."""
    return (0, rank - 1, *range(1, rank - 1))


def channels_second(x: Any, channels_last: bool) -> Any:
    """A numpy array with its channels in axis 1."""
    return x.transpose(to_second(x.ndim)) if channels_last else x


def as_laid(x: Any, channels_last: bool) -> Any:
    """A numpy array [n, c, ...] with its channels where they belong: undoes `channels_second`."""
    return x.transpose(to_last(x.ndim)) if channels_last else x
