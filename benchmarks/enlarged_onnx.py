"""ONNX's node test cases, whose tensors are tiny, as models of about a megabyte."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, numpy_helper

from benchmarks.measure.beside import MOST_RESULTS, WANTED, distance

LONGEST = 0.5
"""Seconds that a call of ONNX Runtime may take."""
SMALL = 16
"""Elements up to which a vector of integers says what is done, not what it is done to."""


@dataclass(frozen=True)
class Enlarged:
    """A model and its inputs."""

    model: ModelProto
    inputs: Mapping[str, np.ndarray[Any, Any]]

    @property
    def nbytes(self) -> int:
        """What it reads."""
        return sum(each.nbytes for each in self.inputs.values())

    def session(self) -> onnxruntime.InferenceSession:
        """ONNX Runtime's of it, on one thread. Raises if it has no kernel."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        data = self.model.SerializeToString()
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def enlarged(model: ModelProto, given: Sequence[Any]) -> Enlarged:
    """The model on inputs nearest to a megabyte: those of a case, repeated along some axes, that
    ONNX Runtime takes. Raises ValueError if it takes none, not even the case's, or where there is
    nothing to repeat."""
    given = [np.asarray(each) if isinstance(each, np.generic) else each for each in given]
    if not all(isinstance(each, np.ndarray) and each.dtype.kind in "fiub" for each in given):
        raise ValueError("inputs are no tensors of numbers")
    arrays = dict(zip([each.name for each in model.graph.input], given, strict=True))
    held = {name: x for name, x in arrays.items() if is_parameter(x)}
    rest = {name: x for name, x in arrays.items() if name not in held}
    if not rest:
        raise ValueError("it reads no tensor that could be larger")
    every = [with_inputs(model, held, longer) for longer in repeated(rest)]
    for call in sorted(every, key=lambda each: rank(each.nbytes)):
        if runs(call):
            return call
    raise ValueError("ONNX Runtime does not run it")


def rank(nbytes: int) -> int:
    """How far from the bytes wanted these are, roughly: what comes first wins."""
    return math.floor(distance(nbytes))


def is_parameter(x: np.ndarray[Any, Any]) -> bool:
    """Whether an input would be a constant in a network: a number, or sizes, axes and places."""
    if x.ndim == 1 and x.dtype.kind in "iu":
        return x.size <= SMALL
    return x.size == 0 or (x.ndim <= 1 and x.size == 1)


def repeated(
    arrays: Mapping[str, np.ndarray[Any, Any]],
) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    """The inputs repeated along all axes of two sizes, of one size, along the largest input's axes
    alone, and as they are. Sizes of its last axes come first."""
    largest = max(arrays, key=lambda name: arrays[name].size)
    sizes = [*dict.fromkeys(reversed(arrays[largest].shape))]
    chosen = [*((a, b) for a, b in combinations(sizes, 2)), *((a,) for a in sizes)]
    for sized in sorted(chosen, key=lambda each: (len(each) == 1, 1 in each)):
        places = {
            name: [n for n, size in enumerate(x.shape) if size in sized]
            for name, x in arrays.items()
        }
        yield from longer(arrays, places)
    rank = arrays[largest].ndim
    for axes in ([rank - 1], [0], [rank - 2, rank - 1]):
        if rank >= len(axes):
            yield from longer(arrays, {largest: axes})
    yield dict(arrays)


def longer(
    arrays: Mapping[str, np.ndarray[Any, Any]], places: Mapping[str, Sequence[int]]
) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    """The inputs, each repeated along these of its axes the same number of times, to about a
    megabyte; nothing if that is once."""

    def nbytes(times: int) -> int:
        return sum(x.nbytes * times ** len(places.get(name, ())) for name, x in arrays.items())

    times = 1
    while distance(nbytes(times + 1)) < distance(nbytes(times)):
        times += 1
    if times > 1:
        yield {name: tiled(x, places.get(name, ()), times) for name, x in arrays.items()}


def tiled(x: np.ndarray[Any, Any], axes: Sequence[int], times: int) -> np.ndarray[Any, Any]:
    """An array repeated along axes."""
    return np.tile(x, [times if n in axes else 1 for n in range(x.ndim)])


def with_inputs(
    model: ModelProto,
    held: Mapping[str, np.ndarray[Any, Any]],
    inputs: Mapping[str, np.ndarray[Any, Any]],
) -> Enlarged:
    """The model with these inputs of their sizes, and `held` as constants of it."""
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in held.items())
    kept = [each for each in graph.input if each.name in inputs]
    del graph.input[:]
    graph.input.extend(kept)
    for each in graph.input:
        shape = each.type.tensor_type.shape
        del shape.dim[:]
        for size in inputs[each.name].shape:
            shape.dim.add().dim_value = size
    for each in graph.output:
        each.type.tensor_type.ClearField("shape")
    return Enlarged(made, inputs)


def runs(call: Enlarged) -> bool:
    """Whether ONNX Runtime runs it, soon, and gives no more than some megabytes."""
    try:
        session = call.session()
        start = time.perf_counter()
        found = session.run(None, dict(call.inputs))
    except Exception:  # its errors have no common class
        return False
    if time.perf_counter() - start > LONGEST:
        return False
    made = [each for each in found if isinstance(each, np.ndarray)]
    return sum(each.nbytes for each in made) <= MOST_RESULTS * WANTED


def is_measurable(model: ModelProto) -> bool:
    """Whether a model is one operator on tensors."""
    values = [*model.graph.input, *model.graph.output]
    return len(model.graph.node) == 1 and all(
        each.type.tensor_type.elem_type != TensorProto.STRING for each in values
    )
