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
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

T = TypeVar("T")

PLAIN = frozenset({"Expr", "Var", "Grid", "DType", "str", "tuple[Expr, ...]", "tuple[Var, ...]"})
"""Annotations of fields whose values are equal only if they are the same."""


NONE: frozenset[Any] = frozenset()


class Interning(type):
    """Makes classes with `interned = True` return one object for each combination of fields."""

    _alive: ClassVar[weakref.WeakValueDictionary[tuple[Any, ...], Any]] = (
        weakref.WeakValueDictionary()
    )
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """The node of these fields, new only if no such node is alive."""
        if not cls.interned:  # type: ignore[attr-defined]
            return super().__call__(*args, **kwargs)
        new = None
        if kwargs or len(args) != len(cls.field_names):  # type: ignore[attr-defined]
            new = super().__call__(*args, **kwargs)
            args = new.values()
        # Asked for before it is made: most nodes are there already.
        key = (cls, *(args if cls.plain else map(exact, args)))  # type: ignore[attr-defined]
        found = Interning._alive.get(key)
        if found is not None:
            return found
        if new is None:
            new = super().__call__(*args)
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


class Node(metaclass=Interning):
    """Anything of which programs are made."""

    __slots__ = ("__weakref__", "_children", "_mentioned")
    interned: ClassVar[bool] = False
    field_names: ClassVar[tuple[str, ...]] = ()
    read: ClassVar[staticmethod[[Any], tuple[Any, ...]]]
    """The values of a node's fields, in order."""
    plain: ClassVar[bool] = False
    """Whether fields with the same values are bit-identical."""
    _children: tuple[Node, ...]
    _mentioned: frozenset[Node]

    def values(self) -> tuple[Any, ...]:
        """The values of the fields, in order."""
        return self.read(self)

    def children(self) -> tuple[Node, ...]:
        """The nodes in this node's fields, in the order of the fields."""
        try:
            return self._children
        except AttributeError:  # asked for the first time; nodes never change
            found: list[Node] = []
            for value in self.values():
                if isinstance(value, Node):
                    found.append(value)
                elif type(value) is tuple:
                    found.extend(nodes_in(value))
            object.__setattr__(self, "_children", tuple(found))
            return self._children

    def mentioned(self) -> frozenset[Node]:
        """The variables in this node, and in what is below it."""
        try:
            return self._mentioned
        except AttributeError:  # asked for the first time
            pass
        pending: list[Node] = [self]
        while pending:  # without recursion: sums may be long
            current = pending[-1]
            below = [each for each in current.children() if each.children()]
            missing = [each for each in below if not hasattr(each, "_mentioned")]
            if missing:
                pending += missing
                continue
            pending.pop()
            if not hasattr(current, "_mentioned"):
                found = NONE
                for each in current.children():
                    own = each._mentioned if each.children() else each.mentioned()
                    if not own <= found:
                        found = found | own if found else own
                object.__setattr__(current, "_mentioned", found)
        return self._mentioned

    def map_children(self, change: Callable[[Any], Any]) -> Self:
        """This node with each child replaced by `change(child)`; itself if none changed.

        Where a field holds a tuple of statements, `change` may return a tuple for one of them:
        several statements, or none.
        """
        if not self.children():
            return self
        same = True
        new: list[Any] = []
        for value in self.read(self):
            if isinstance(value, Node):
                after = change(value)
            elif type(value) is tuple and value:
                after = mapped(value, change)
            else:
                after = value
            same = same and after is value
            new.append(after)
        return self if same else type(self)(*new)

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


def mapped(value: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """A tuple with `change` applied to the nodes in it; itself if nothing changed."""
    same = True
    new: list[Any] = []
    for each in value:
        if isinstance(each, Node):
            result = change(each)
            if type(result) is tuple:
                new.extend(result)
                same = False
                continue
        elif type(each) is tuple and each:
            result = mapped(each, change)
        else:
            result = each
        same = same and result is each
        new.append(result)
    return value if same else tuple(new)


def reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that reads these attributes, as fast as can be: all walks go through it."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda each: tuple(getattr(each, name) for name in names)


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[T]) -> type[T]:
    """Declare a node class: a frozen dataclass with slots, compared by identity."""
    made = dataclass(frozen=True, eq=False, repr=False, slots=True)(cls)
    listed = fields(made)  # type: ignore[arg-type]
    made.field_names = tuple(each.name for each in listed)  # type: ignore[attr-defined]
    made.read = staticmethod(reader(made.field_names))  # type: ignore[attr-defined]
    made.plain = all(each.type in PLAIN for each in listed)  # type: ignore[attr-defined]
    return made
