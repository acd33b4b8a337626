"""The arguments of a call as the flat list that a function's graph takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from hidet.errors import BadArgument
from hidet_tf.tensors import Wanted, argument_of

Reader: TypeAlias = Callable[[Any], Any]
"""Gives a part of an argument."""
Part: TypeAlias = tuple[Any, Reader]
"""A part of a signature, a spec or another value, with what reads it."""


class Binder:
    """Binds arguments as the ConcreteFunction does, of which it was made.

    `specs` are those of the flat arguments. Other values than tensors were fixed by the trace.
    """

    def __init__(self, concrete: Any) -> None:
        by_position, by_name = concrete.structured_input_signature
        self.kind = concrete.function_type
        self.positional = positional_names(self.kind)
        self.expected = dict(zip(self.positional, by_position, strict=True)) | by_name
        if not by_position and len(by_name) == 1:  # as a SavedModel of one input
            self.positional = [*by_name]
        self.names = [*self.expected]
        self.parts = {name: parts(each, name) for name, each in self.expected.items()}
        self.specs = [spec for each in self.parts.values() for spec, _ in each if is_spec(spec)]
        self.is_plain = not by_name and all(map(is_tensor_spec, by_position))
        tensors = [each for each in self.specs if is_tensor_spec(each)]
        self.wanted = {id(each): Wanted(each.dtype) for each in tensors}
        self.in_order = [self.wanted[id(each)] for each in tensors]

    def __call__(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The flat arguments of a call; BadArgument for one that does not fit."""
        if self.is_plain and not named and len(inputs) == len(self.positional):
            return [*map(argument_of, inputs, self.in_order)]
        given = self.bound(inputs, named)
        flat: list[Any] = []
        for name, each in self.parts.items():
            for spec, read in each:
                self.read(flat, name, spec, read, given)
        return flat

    def read(
        self, flat: list[Any], name: str, spec: Any, read: Reader, given: Mapping[str, Any]
    ) -> None:
        """One part of an argument: tensors join `flat`, other values are compared."""
        if name not in given:
            if is_spec(spec):
                raise BadArgument(f"there is no value for {name}", help=self.said)
            return
        value = read_part(name, read, given[name])
        if is_tensor_spec(spec):
            flat.append(argument_of(value, self.wanted[id(spec)]))
        elif is_spec(spec):
            flat += tf.nest.flatten(value, expand_composites=True)
        elif value is not spec and value != spec:
            raise BadArgument(
                f"the model was compiled for {name}={spec!r}, not {value!r}",
                help="compile it for the other value, too",
            )

    def bound(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name."""
        if len(inputs) > len(self.positional):
            raise BadArgument(
                f"{len(inputs)} arguments for {len(self.positional)} parameters", help=self.said
            )
        given = dict(zip(self.positional, inputs, strict=False))
        for name in named:
            if name not in self.expected:
                raise BadArgument(f"there is no argument {name!r}", help=self.said)
            if name in given:
                raise BadArgument(f"argument {name!r} is given twice")
        return {**given, **named}

    @property
    def said(self) -> str:
        """The signature for messages."""
        return f"the model takes {self.kind}"


def positional_names(kind: Any) -> list[str]:
    """The parameters that may be given by position."""
    every = kind.parameters.values()
    return [each.name for each in every if each.kind in (each.POSITIONAL_ONLY, POSITIONAL)]


POSITIONAL = 1
"""`inspect.Parameter.POSITIONAL_OR_KEYWORD`, as a number."""


def parts(structure: Any, name: str, read: Reader = lambda value: value) -> list[Part]:
    """What an argument of this structure is made of, in TensorFlow's order."""
    if isinstance(structure, Mapping):
        keys: Sequence[Any] = sorted(structure)
    elif isinstance(structure, list | tuple):
        keys = range(len(structure))
    else:
        return [(structure, read)]
    count = len(keys)
    return [part for key in keys for part in parts(structure[key], name, at(read, key, count))]


def at(read: Reader, key: Any, count: int) -> Reader:
    """What reads an element of the `count` that `read` gives."""

    def element(value: Any) -> Any:
        whole = read(value)
        if len(whole) != count:
            raise IndexError(f"it has {len(whole)} elements, not {count}")
        return whole[key]

    return element


def read_part(name: str, read: Reader, value: Any) -> Any:
    """A part of an argument; BadArgument if it is not there."""
    try:
        return read(value)
    except (KeyError, IndexError, TypeError) as error:
        raise BadArgument(
            f"argument {name!r} has not the structure that the model takes: {error}"
        ) from None


def is_spec(value: Any) -> bool:
    """Whether a part of a signature stands for tensors."""
    return isinstance(value, tf.TypeSpec)


def is_tensor_spec(value: Any) -> bool:
    """Whether a part of a signature stands for one tensor."""
    return isinstance(value, tf.TensorSpec)
