"""Records and parts: what a script passes around as one thing, and what it does with it.

    @record
    class Ring:
        stages: int          # known while the script is transcribed
        bars: Shared         # a tensor, or another record: by reference
        count: Int           # a number of each thread, which may be assigned

        @part
        def stage(self, iteration: Int) -> Int:
            return (self.count + iteration) % self.stages

A record is made by calling its class. Where a name first stands for it, its numbers become
variables of the kernel; from there on it is a reference, which nothing copies. A part, alone or
as a method, is written into each kernel that calls it. Annotations are looked up where a module's
own names are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import get_annotations
from typing import Any, TypeVar, cast, dataclass_transform

from hidet.errors import BadScript
from hidet.lang.capture import Captured, Source, capture
from hidet.lang.kinds import Kind, kind_in, mistaken
from hidet.lang.values import spoken

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass_transform(eq_default=False)
def record(cls: type[T]) -> type[T]:
    """Make a class a record: its annotated names are fields, given by place or by name.

    A value that is not of its field's kind is a BadScript error where the record is made.
    """
    marked: Any = cls
    marked.__post_init__ = check_fields
    marked.__record__ = True
    return dataclass(eq=False)(cls)


def part(function: F) -> F:
    """Make a function, or a method, a part of kernels. To a type checker it is the function."""
    return cast(F, Part(function))


class Part(Captured):
    """A part of kernels, whose source is read when a script first calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @cached_property
    def source(self) -> Source:  # type: ignore[override]
        """The function's source, without annotations: `check` has looked at them."""
        found = capture(self.function)
        return replace(found, tree=without_annotations(found.tree))

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """What is written behind the parameters' names."""
        return get_annotations(self.function, eval_str=True)

    def check(self, args: list[Any], keywords: Mapping[str, Any]) -> None:
        """BadScript if an argument is not of its parameter's kind."""
        names = [each.arg for each in self.source.tree.args.args]
        for name, value in (dict(zip(names, args, strict=False)) | dict(keywords)).items():
            asked = mistaken(self.hints.get(name), value)
            if asked:
                raise BadScript(f"`{name}` is {asked}, the argument is {spoken(value)}")

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else Method(self, owner)

    def __call__(self, *args: Any) -> Any:
        name = self.function.__name__
        raise BadScript(f"`{name}`, a part of kernels, is called outside of a script")


@dataclass(frozen=True)
class Method:
    """A part with the value that is its first argument."""

    part: Part
    owner: Any

    def __call__(self, *args: Any) -> Any:
        return self.part(self.owner, *args)


def without_annotations(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A function whose parameters are written without types; the tree itself stays."""
    made = copy(tree)
    made.args = copy(tree.args)
    made.args.args = [copy(each) for each in tree.args.args]
    for each in made.args.args:
        each.annotation = None
    made.returns = None
    return made


def check_fields(self: Any) -> None:
    """BadScript if a field of a record is not of its kind."""
    for name, annotation in hints_of(type(self)).items():
        value = getattr(self, name)
        asked = mistaken(annotation, value)
        if asked:
            what = f"`{name}` of a {type(self).__name__}"
            raise BadScript(f"{what} is {asked}, the value is {spoken(value)}")


def hints_of(cls: type) -> Mapping[str, Any]:
    """What is written behind the names of a record's fields."""
    found: Mapping[str, Any] | None = cls.__dict__.get("__hints__")
    if found is None:
        classes = [get_annotations(each, eval_str=True) for each in reversed(cls.__mro__)]
        found = {name: hint for each in classes for name, hint in each.items()}
        cast(Any, cls).__hints__ = found
    return found


def is_record(value: Any) -> bool:
    """Whether it is a record, not its class."""
    return hasattr(type(value), "__record__")


def number_kind(of: Any, name: str) -> Kind | None:
    """The kind of a record's field if it is a number of each thread."""
    kind = kind_in(hints_of(type(of)).get(name))
    return kind if kind is not None and kind.is_number else None


def with_variables(of: Any, name: str, settle: Callable[[str, Any], Any]) -> Any:
    """A record called `name` whose numbers, and those of records in it, are variables."""
    changes = {}
    for field in hints_of(type(of)):
        held = getattr(of, field)
        if is_record(held) or number_kind(of, field):
            changes[field] = settle(f"{name}_{field}", held)
    return replace(of, **changes)
