"""Values that control flow carries, as tensors: lists are taken apart and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hidet.errors import NotYet
from hidet.graph import Tensor


def flat(value: Any) -> list[Tensor]:
    """The tensors of a value: itself, those of a list, or none of an absent one."""
    match value:
        case Tensor():
            return [value]
        case None:
            return []
        case list() | tuple():
            return [tensor for each in value for tensor in flat(each)]
    raise NotYet("strings in control flow whose course only data tell")


def nested(like: Any, tensors: Iterator[Tensor]) -> Any:
    """A value of the form of another one, made of these tensors."""
    if isinstance(like, list | tuple):
        return [nested(each, tensors) for each in like]
    return None if like is None else next(tensors)


def require_same_form(what: str, one: Sequence[Any], other: Sequence[Any]) -> None:
    """NotYet unless both hold lists of the same lengths, and tensors in the same places."""
    if form(one) != form(other):
        raise NotYet(f"{what} of different forms: a list of another length, or an absent value")


def form(value: Any) -> Any:
    """Where there are tensors in a value."""
    return [*map(form, value)] if isinstance(value, list | tuple) else value is not None
