"""Models whose calls tell what they take: one compiled form for each kind of arguments.

As tf.function does, the first call's sizes are fixed; an axis that has another size in a later call
is open from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from hidet.build.arguments import described, glance
from hidet.frontend.running.variants import Variants
from hidet.types import dtype
from hidet_tf.dtypes import tf_dtype
from hidet_tf.signature import Signature
from hidet_tf.tensors import EagerTensor

Shape: TypeAlias = tuple[int | None, ...]
Kind: TypeAlias = Hashable
"""What tells calls apart that no open axis makes one: structure, types, ranks, other values."""


class Retracing:
    """Finds the signature for the arguments of a call; `make` traces and compiles one.

    With `opens_batch` the first axes are open from the first call on.
    """

    def __init__(
        self,
        make: Callable[[Sequence[Any], Mapping[str, Any]], Signature],
        opens_batch: bool = False,
    ) -> None:
        self.opens_batch = opens_batch
        self.shapes: dict[Kind, tuple[Shape, ...]] = {}
        self.make = make
        self.asked: tuple[Sequence[Any], Mapping[str, Any]] = (), {}
        self.variants: Variants[Hashable, Signature] = Variants(self.made, lambda: "its arguments")
        self.latest: tuple[Any, Signature] | None = None

    def __call__(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> Signature:
        """The signature for arguments."""
        facts = None if named else seen(inputs)
        if facts is not None and self.latest is not None and facts == self.latest[0]:
            return self.latest[1]
        found = self.find(inputs, named)
        self.latest = (facts, found)
        return found

    def find(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> Signature:
        """The same, looked up."""
        with self.variants.lock:
            leaves: list[Shape] = []
            kind = kind_of((tuple(inputs), dict(named)), leaves)
            found = [(None, *each[1:]) if self.opens_batch and each else each for each in leaves]
            shapes = self.shapes[kind] = opened(self.shapes.get(kind), found)
            self.asked = inputs, named
            return self.variants((kind, shapes))

    def made(self, key: Any) -> Signature:
        """Trace for the arguments that are asked for, their sizes open where the key has them."""
        shapes = iter(key[1])
        inputs, named = with_specs((tuple(self.asked[0]), dict(self.asked[1])), shapes)
        return self.make(inputs, named)


def seen(inputs: Sequence[Any]) -> list[Any] | None:
    """What a call's arguments are, if all are tensors of TensorFlow: quick to find and compare."""
    if not all(type(each) is EagerTensor for each in inputs):
        return None
    return [(each._shape_tuple(), each._datatype_enum()) for each in inputs]


def opened(known: tuple[Shape, ...] | None, found: Sequence[Shape]) -> tuple[Shape, ...]:
    """Shapes for which all calls so far are one: axes of several sizes are open."""
    if known is None:
        return tuple(found)
    pairs = (zip(old, new, strict=True) for old, new in zip(known, found, strict=True))
    return tuple(tuple(a if a == b else None for a, b in each) for each in pairs)


def kind_of(value: Any, leaves: list[Shape]) -> Kind:
    """What an argument is but for its sizes, which join `leaves`."""
    if isinstance(value, Mapping):
        return "dict", tuple((key, kind_of(value[key], leaves)) for key in sorted(value))
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(kind_of(each, leaves) for each in value)
    spec = spec_of(value)
    if spec is None:
        return type(value).__name__, value if isinstance(value, Hashable) else id(value)
    if not isinstance(spec, tf.TensorSpec):
        return spec
    leaves.append(tuple(spec.shape.as_list()))
    return spec.dtype, spec.shape.rank


def with_specs(value: Any, shapes: Any) -> Any:
    """An argument with specs of these shapes for its tensors."""
    if isinstance(value, Mapping):
        made = {key: with_specs(value[key], shapes) for key in sorted(value)}
        return {key: made[key] for key in value}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(with_specs(each, shapes) for each in value))
    if isinstance(value, list | tuple):
        return type(value)(with_specs(each, shapes) for each in value)
    spec = spec_of(value)
    return (
        tf.TensorSpec(next(shapes), spec.dtype)
        if isinstance(spec, tf.TensorSpec)
        else (value if spec is None else spec)
    )


def spec_of(value: Any) -> tf.TypeSpec | None:
    """The spec of a tensor of any library; None for another value, which a trace fixes."""
    if isinstance(value, tf.Variable):
        return tf.TensorSpec(value.shape, value.dtype)
    if isinstance(value, np.ndarray | np.generic):
        return tf.TensorSpec(value.shape, tf.as_dtype(value.dtype))
    if tf.is_tensor(value):
        return tf.type_spec_from_value(value)
    found = glance(value) if hasattr(value, "shape") else None
    if found is None:
        return None
    tensor = described(found[1])
    return tf.TensorSpec(tensor.shape, tf_dtype(dtype(tensor.dtype)))
