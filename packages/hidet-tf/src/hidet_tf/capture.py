"""From what users compile to ConcreteFunctions: at once, or when a call shows what it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from hidet.errors import BadArgument


class Source:
    """What was given to `compile`. `concrete` is its one ConcreteFunction, None where calls tell
    what is to be traced.

    Where `opens_batch`, the first axis of what calls give is a batch of any size. It keeps what was
    given, and its `owner`: a ConcreteFunction holds its variables weakly.
    """

    def __init__(self, given: Any, specs: Sequence[Any] = (), owner: Any = None) -> None:
        self.given, self.owner, self.opens_batch = given, owner, False
        if is_concrete(given):
            if specs:
                raise BadArgument("a ConcreteFunction has its specs", help="compile its function")
            self.concrete, self.traced = given, None
            return
        self.traced = traceable(given)
        declared = specs or declared_specs(given)
        # Kernels for images of any size are slower, and long to compile: calls tell the sizes.
        self.opens_batch = not specs and any(map(is_image, tf.nest.flatten(declared)))
        self.concrete = None if self.opens_batch or declared is None else self.trace(declared, {})

    def original(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """What TensorFlow gives for arguments."""
        return (self.given if self.traced is None else self.traced)(*inputs, **named)

    def trace(self, specs: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The ConcreteFunction for arguments: specs, or other values as they are.

        Errors of the user's own code come as they are.
        """
        assert self.traced is not None, "a ConcreteFunction is not traced"
        return self.traced.get_concrete_function(*specs, **named)


def is_concrete(given: Any) -> bool:
    """Whether something is a ConcreteFunction, for which TensorFlow has no public name."""
    return hasattr(given, "captured_inputs") and hasattr(given, "structured_input_signature")


def traceable(given: Any) -> Any:
    """What is compiled as a tf.function; BadArgument for what is none."""
    if isinstance(given, keras.Layer):
        require_tensorflow()
        return tf.function(inference(given), autograph=False)
    if hasattr(given, "get_concrete_function"):
        return given
    if callable(given):
        return tf.function(given)
    raise BadArgument(
        f"{type(given).__name__} is nothing that can be compiled",
        help="give a Keras model, a tf.function, a ConcreteFunction, or a function",
    )


def require_tensorflow() -> None:
    """Raise BadArgument if Keras computes by another framework."""
    name = keras.config.backend()
    if name != "tensorflow":
        raise BadArgument(
            f"Keras computes by {name}, and this model is one of {name}'s",
            help="set KERAS_BACKEND=tensorflow before Keras is imported, and load the model again",
        )


def inference(model: keras.Layer) -> Callable[..., Any]:
    """A call of a Keras model as it predicts."""
    return lambda *args, **named: model(*args, **{"training": False, **named})


def declared_specs(given: Any) -> Sequence[Any] | None:
    """The specs that a model or function declares itself; None if only calls tell."""
    if isinstance(given, keras.Layer):
        return keras_specs(given)
    return () if getattr(given, "input_signature", None) is not None else None


def keras_specs(model: keras.Layer) -> Sequence[Any] | None:
    """The specs of a functional or sequential model; None for one that is written as a class, or
    not built yet."""
    try:
        inputs = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
    except (AttributeError, ValueError):
        return None
    return (tf.nest.map_structure(spec_of, inputs),)


def is_image(spec: Any) -> bool:
    """Whether a spec is that of images, or videos, of any size."""
    return isinstance(spec, tf.TensorSpec) and len(spec.shape) > 3 and None in spec.shape[1:]


def spec_of(tensor: Any) -> Any:
    """The spec of an input of a Keras model."""
    if tensor.sparse:
        return tf.SparseTensorSpec(tensor.shape, tensor.dtype)
    return tf.TensorSpec(tensor.shape, tensor.dtype, name=tensor.name)
