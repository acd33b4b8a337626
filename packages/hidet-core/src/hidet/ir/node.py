"""Nodes: immutable dataclasses whose children are read off their fields.

Expressions are interned (the same fields give the same object), statements are not: they have
places and effects. Equality is identity everywhere.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from operator import is_
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

T = TypeVar("T")


class Interning(type):
    """Makes classes with `interned = True` return one object for each combination of fields."""

    _alive: ClassVar[weakref.WeakValueDictionary[tuple[Any, ...], Any]] = (
        weakref.WeakValueDictionary()
    )
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """The node of these fields, new only if no such node is alive."""
        new = super().__call__(*args, **kwargs)
        if not new.interned:
            return new
        key = (cls, *(exact(getattr(new, name)) for name in field_names(cls)))
        found = Interning._alive.get(key)
        if found is not None:
            return found
        with Interning._lock:
            return Interning._alive.setdefault(key, new)


def exact(value: Any) -> Any:
    """A key equal only for bit-identical values: 0.0 is not -0.0, 1 is not True, NaN is itself."""
    if isinstance(value, float):
        return float, struct.pack("<d", value)
    if isinstance(value, bool | int):
        return type(value), value
    if isinstance(value, tuple):
        return tuple(map(exact, value))
    return value


@cache
def field_names(cls: type) -> tuple[str, ...]:
    """The names of a node class's fields, in order."""
    return tuple(field.name for field in fields(cls))


class Node(metaclass=Interning):
    """Anything of which programs are made."""

    __slots__ = ("__weakref__", "_children")
    interned: ClassVar[bool] = False
    _children: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        """The nodes in this node's fields, in the order of the fields."""
        try:
            return self._children
        except AttributeError:  # asked for the first time; nodes never change
            names = field_names(type(self))
            found = tuple(each for name in names for each in nodes_in(getattr(self, name)))
            object.__setattr__(self, "_children", found)
            return found

    def map_children(self, change: Callable[[Any], Any]) -> Self:
        """This node with each child replaced by `change(child)`; itself if none changed.

        Where a field holds a tuple of statements, `change` may return a tuple for one of them:
        several statements, or none.
        """
        names = field_names(type(self))
        old = [getattr(self, name) for name in names]
        new = [mapped(value, change) for value in old]
        if all(map(is_, old, new)):
            return self
        return type(self)(*new)

    def __str__(self) -> str:
        return Node.printer(self)

    def __repr__(self) -> str:
        return Node.printer(self)

    # Set by ir/show.py, which imports every node class.
    printer: ClassVar[Callable[[Node], str]] = object.__repr__


def nodes_in(value: Any) -> Iterator[Node]:
    """The nodes in a field's value: itself, or those in a tuple, however nested."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from nodes_in(each)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A field's value with `change` applied to the nodes in it; itself if nothing changed."""
    if isinstance(value, Node):
        return change(value)
    if not isinstance(value, tuple) or not value:
        return value
    new: list[Any] = []
    for each in value:
        result = mapped(each, change)
        if isinstance(each, Node) and isinstance(result, tuple):
            new.extend(result)
        else:
            new.append(result)
    if len(new) == len(value) and all(map(is_, value, new)):
        return value
    return tuple(new)


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[T]) -> type[T]:
    """Declare a node class: a frozen dataclass with slots, compared by identity."""
    return dataclass(frozen=True, eq=False, repr=False, slots=True)(cls)
