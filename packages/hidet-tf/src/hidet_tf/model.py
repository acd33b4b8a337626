"""`hidet_tf.compile`: a model that is called with tensors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import tensorflow as tf

from hidet.build.compiled import CompiledGraph, Profile
from hidet.build.orders import IN_ROWS, Orders
from hidet.errors import BadArgument
from hidet.graph import FlowGraph
from hidet_tf.capture import Source
from hidet_tf.layer import CompiledLayer, is_recorded, recorded_call, traced_call
from hidet_tf.retracing import Retracing
from hidet_tf.saved_model import Signatures, is_loaded, opened, signature_of
from hidet_tf.settings import Settings, settings_for
from hidet_tf.signature import Signature, as_host, as_numpy


def compile(
    model: Any = None,
    *specs: Any,
    device: str | None = None,
    options: Mapping[str, Any] | None = None,
    signature: str | None = None,
    safe_mode: bool = True,
) -> Any:
    """Compile a Keras model, a tf.function, a ConcreteFunction, or a function: a `Compiled`.

    A path is that of a SavedModel folder, of which `signature` names what is called (the one that
    servers call by default), or of a `.keras` file, whose code runs only without `safe_mode`.
    Nobody writes to the variables of such a model, so that they are not watched.

    `specs` are `tf.TensorSpec`s of the arguments, whose unknown sizes stay open. Without them a
    functional model says what it takes, and another one is traced for the arguments of its calls.
    `options` are those of `hidet.options`, `fallback` ("warn" or "error": what to do about
    operators that only TensorFlow can run), `results` ("tf" or "numpy"), `weights` ("watched": a
    variable that was assigned is read anew at the next call; "frozen": nobody looks), `freeze`
    (False: variables are read at each call, and are no constants) and `asserts` ("kept", or
    "dropped" as by XLA: `tf.debugging` checks nothing). Without a model it is a decorator.
    """
    settings = settings_for(options or {})
    if model is None:
        return partial(compile, device=device, options=options)
    if isinstance(model, str | os.PathLike):
        settings = settings_for({"weights": "frozen", **(options or {})})
        model = opened(model, safe_mode)
    if is_loaded(model) and not specs:
        source = Source(signature_of(model, signature), owner=model)
    else:
        require_no_signature(signature)
        source = Source(model, specs)
    return Compiled(source, device or "cpu", settings)


class Compiled:
    """A compiled model: `model(*tensors)` gives what the original gives, in the same structure."""

    def __init__(self, source: Source, device: str, settings: Settings) -> None:
        self.source, self.device, self.settings = source, device, settings
        self.has_warned = False
        """Whether somebody was told that the original runs, for the sake of gradients."""
        self.find: Callable[[Sequence[Any], Mapping[str, Any]], Signature]
        self.retracing = Retracing(self.traced, source.opens_batch)
        self.find = self.retracing
        if source.concrete is not None:
            self.fixed = self.signature(source.concrete)
            self.find = lambda inputs, named: self.fixed

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The model's results for these arguments.

        In a function that is being traced they are symbols. Under a GradientTape that records the
        call TensorFlow runs the original, and a GradientWarning says so.
        """
        if not tf.executing_eagerly():
            return traced_call(self.find(inputs, named), inputs, named)
        if is_recorded():
            return recorded_call(self, inputs, named)
        return self.find(inputs, named)(inputs, named)

    def as_layer(self, **named: Any) -> CompiledLayer:
        """The compiled model as a Keras layer without weights; `named` are arguments of layers."""
        return CompiledLayer(self, **named)

    def signature(self, concrete: Any) -> Signature:
        """A ConcreteFunction compiled."""
        made = Signature(concrete, self.device, self.settings)
        _ = made.run
        return made

    def traced(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> Signature:
        """The model compiled for arguments."""
        return self.signature(self.source.trace(inputs, named))

    @cached_property
    def signatures(self) -> Mapping[str, Compiled]:
        """The signatures of a SavedModel by name, each compiled when it is first asked for."""
        loaded = self.source.owner
        if loaded is None:
            raise BadArgument("the model has no signatures", help="SavedModel folders have them")

        def made(concrete: Any) -> Compiled:
            if concrete is self.source.concrete:
                return self
            return Compiled(Source(concrete, owner=loaded), self.device, self.settings)

        return Signatures(loaded, made)

    # ---- what users look at ---------------------------------------------------------------------

    def latest(self) -> Signature:
        """The signature of the latest call, or the only one."""
        if self.source.concrete is not None:
            return self.fixed
        if not self.retracing.variants.forms:
            raise BadArgument(
                "the model is compiled at its first call, which tells what it takes",
                help="call it before, or compile it with specs: tf.TensorSpec((None, 3))",
            )
        return next(reversed(self.retracing.variants.forms.values()))

    @property
    def graph(self) -> FlowGraph:
        """The graph of the signature that was called last."""
        return self.latest().model.graph

    @property
    def compiled(self) -> CompiledGraph:
        """The same compiled: what runs."""
        return self.latest().compiled

    def run(self, inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """All results as arrays, for the inputs of `graph` in order: what the command `hidet`
        calls."""
        return [*map(as_numpy, self.latest().run(inputs))]

    def explain(self) -> str:
        """Which operators are compiled, which are not and why, and which share kernels."""
        return self.latest().model.explain()

    def profile(self, *inputs: Any, repeat: int = 20, **named: Any) -> Profile:
        """The microseconds of each kernel and host step of a call: see `CompiledGraph.profile`."""
        found = self.find(inputs, named)
        return found.model.profile(found.arguments(inputs, named), repeat)

    def correctness_report(self, *inputs: Any, float64: bool = False, **named: Any) -> Any:
        """How far each operator, and the whole, is from what it means, for these arguments.

        See `FlowGraph.correctness_report`.
        """
        found = self.find(inputs, named)
        return found.model.correctness_report(
            [*map(as_host, found.arguments(inputs, named))], float64
        )

    def save(self, path: str | os.PathLike[str], *targets: str, orders: Orders = IN_ROWS) -> None:
        """Write the compiled model to a file, for `hidet.load` and `hidet run`, without TensorFlow.

        It is compiled for its device, or for each of `targets` ("sm_90a", "cpu"). A file takes and
        gives flat lists of arrays. BadArgument names what TensorFlow runs, which no file can hold.
        A file reads inputs in rows. `orders` names those that lie otherwise, with their axes in
        memory, outermost first: `{"image": (0, 2, 3, 1)}`.
        """
        self.latest().save(path, *targets, orders=orders)

    def __repr__(self) -> str:
        kind = self.source.concrete and self.source.concrete.function_type
        return f"Compiled({kind or self.source.given}, device={self.device!r})"


def require_no_signature(name: str | None) -> None:
    """Raise BadArgument if a signature is named of what has none."""
    if name is not None:
        raise BadArgument(
            f"signature={name!r} is for SavedModels", help="give the folder, without specs"
        )
