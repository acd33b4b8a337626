"""A compiled model inside of TensorFlow: in functions that are traced, under a tape, as a layer.

TensorFlow calls it by `tf.numpy_function`, which gives it arrays where they lie. Such a function
lives in this process only, and has no gradient: both are said instead of found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import record

from hidet.errors import BadArgument
from hidet.errors.warning import warn
from hidet_tf.signature import Signature

if TYPE_CHECKING:
    from hidet_tf.model import Compiled

is_recorded = record.could_possibly_record
"""Whether a GradientTape is open."""


class GradientWarning(UserWarning):
    """Gradients are asked for, which compiled models do not have: TensorFlow runs the original."""


def recorded_call(compiled: Compiled, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A call under a tape: the original's, if the tape records it."""
    leaves = tf.nest.flatten([inputs, dict(named)], expand_composites=True)
    tensors = [each for each in leaves if tf.is_tensor(each)]
    signature = compiled.find(inputs, named)
    is_watched = bool(tensors) and record.should_record_backprop(tensors)
    if not is_watched and not signature.concrete.graph.trainable_variables:
        return signature(inputs, named)
    if not compiled.has_warned:
        compiled.has_warned = True
        warn(
            GradientWarning(
                "a GradientTape records a call of a compiled model, which has no gradients: "
                "TensorFlow runs the original; tape.stop_recording() lets the compiled one run"
            )
        )
    return compiled.source.original(inputs, named)


def traced_call(signature: Signature, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A call in a function that is being traced: an operator that calls the compiled model."""
    concrete = signature.concrete
    kind = concrete.function_type
    flat = kind.unpack_inputs(kind.bind(*inputs, **named))
    tf.raw_ops.VarIsInitializedOp(resource=STAYS.handle)

    @tf.custom_gradient
    def call(*given: Any) -> Any:
        types = [each.dtype for each in concrete.outputs]
        found = tf.numpy_function(lambda *arrays: on_host(signature.run(arrays)), given, types)
        return found, refuse_gradient

    found = call(*flat)
    for one, of in zip(found, concrete.outputs, strict=True):
        one.set_shape(of.shape)
    return signature.pack(found)


def on_host(results: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Results as arrays, in their own memory."""
    return [*map(np.asarray, results)]


def refuse_gradient(*upstream: Any, variables: Any = None) -> NoReturn:
    """Raise BadArgument: nobody may take no gradient for none."""
    raise BadArgument(
        "a compiled model has no gradients in a traced function",
        help="use the original model where gradients are needed",
    )


class StaysHere(tf.Module):
    """Refers to a handle that functions read which call compiled models, so that saving them fails
    and TensorFlow's error shows this object: what they call is in this process only."""

    def __init__(self) -> None:
        super().__init__()
        self.handle = tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=(), shared_name="")

    def __repr__(self) -> str:
        return (
            "a model compiled by hidet_tf, which a SavedModel cannot hold: save the original, or "
            "the compiled one with compiled.save(path)"
        )


STAYS = StaysHere()


class CompiledLayer(keras.layers.Layer):
    """A compiled model as a Keras layer, for `predict`, `tf.data` and larger models.

    It has no weights to train and no gradients: errors say so where they are asked for.
    """

    def __init__(self, compiled: Compiled, **named: Any) -> None:
        super().__init__(trainable=False, **named)
        self.compiled = compiled

    def call(self, *inputs: Any, **named: Any) -> Any:
        """What the compiled model gives."""
        return self.compiled(*inputs, **named)

    def compute_output_spec(self, *inputs: Any, **named: Any) -> Any:
        """The types and shapes of the results, as the signature has them."""
        specs = tf.nest.map_structure(spec_of, (inputs, named))
        outputs = self.compiled.find(*specs).concrete.structured_outputs
        return tf.nest.map_structure(
            lambda each: keras.KerasTensor(each.shape, each.dtype.name), outputs
        )

    def get_config(self) -> NoReturn:
        """Raise BadArgument: a file of Keras' cannot hold kernels."""
        raise BadArgument(
            "a compiled model is no part of a Keras file",
            help="save the original model, or the compiled one with compiled.save(path)",
        )


def spec_of(value: Any) -> Any:
    """The spec of a symbol of Keras'; other values as they are."""
    if isinstance(value, keras.KerasTensor):
        return tf.TensorSpec(value.shape, value.dtype)
    return value
