"""A whole function as a FlowGraph, with what its calls need to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from hidet.errors import BadArgument
from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.model import Model
from hidet.frontend.running.fallback import HostCall
from hidet.frontend.running.gather import following, gathered, moved
from hidet.frontend.running.host_values import HostFunction, HostValue
from hidet.frontend.running.results import Results
from hidet.graph import FlowGraph, Tensor, assuming, guarded, tracing
from hidet.graph.known import without_asking
from hidet.ir.expr import Var
from hidet.types import TensorType, i32
from hidet_tf.dtypes import hidet_dtype, is_plain
from hidet_tf.importing.importer import TfImporter
from hidet_tf.importing.neighbours import neighbours, trimmed
from hidet_tf.variables import Reading, Variable


@dataclass(frozen=True)
class Imported:
    """A function's graph.

    `inputs` are what its flat arguments became, in order: inputs of the graph, and values that only
    TensorFlow has. `outputs` has for each flat result the number of the graph's, such a value, or
    text. Where TensorFlow has `functions` to run, what they give are further inputs of the graph,
    and what they read are further outputs.
    """

    graph: FlowGraph
    inputs: Sequence[Tensor | HostValue]
    functions: Sequence[HostFunction]
    outputs: Sequence[int | HostValue | np.ndarray[Any, Any]]
    calls: Mapping[str, HostCall]
    coverage: Coverage
    device: str
    variables: Sequence[Variable]
    """Those that the graph has as constants that change."""
    given: Sequence[Variable]
    """Those whose values follow the arguments of a call."""
    assigned: Sequence[Variable]
    """Those that get the last results."""

    def model(self, chosen: Mapping[str, Any]) -> Model:
        """The same as core compiles it, under these options."""
        return Model(
            self.graph, self.calls, self.functions, self.coverage, self.device, "tf", chosen
        )


def import_function(
    concrete: Any, device: str, reading: Reading = Reading.FROZEN, *, asserts: bool = True
) -> Imported:
    """The FlowGraph of a ConcreteFunction for a device, which has variables by this `reading`:
    those that the function assigns are inputs. Without `asserts` it checks nothing.

    Sizes that its signature leaves open are symbols, named after the argument: `x.0`. Raises
    UnsupportedOp that names all operators that nobody can run.
    """
    written: set[int] = set()
    while True:
        variables = [
            Variable(
                each.handle, each.dtype, device, each.name,
                Reading.GIVEN if id(each.handle) in written else reading,
            )
            for each in concrete.variables
        ]  # fmt: skip
        importer = TfImporter(device, variables, asserts=asserts)
        found = imported(concrete, importer)
        again = {id(each.handle) for each in found.assigned if each.reading is not Reading.GIVEN}
        if not again:
            return found
        written |= again


def imported(concrete: Any, importer: TfImporter) -> Imported:
    """What an importer makes of a function."""
    graph, device, variables = concrete.graph, importer.device, importer.variables
    count = len(graph.inputs) - len(concrete.captured_inputs)
    # Arguments of one batch have sizes of their own; no argument's values are there yet.
    with tracing(), without_asking(), assuming() as guards:
        inputs = [argument(each, device) for each in graph.inputs[:count]]
        captured = [importer.captured(each) for each in concrete.captured_inputs]
        found = importer.subgraph(graph, [*inputs, *captured])
        coverage = importer.coverage()
        read = [each for each in variables if each.before is not None]
        given = [each for each in read if each.reading is Reading.GIVEN]
        inputs += [each.before for each in given if each.before is not None]
        assigned = [each for each in variables if each.after is not None]
        found = (*found, *(each.after for each in assigned))
        functions = trimmed(neighbours(importer.fallback.functions), found)
        results = Results()
        outputs = [results.add(each) if isinstance(each, Tensor) else each for each in found]
        if importer.fallback.token is not None:  # what TensorFlow runs for its effects
            results.add(importer.fallback.token)
        tensors = [each for each in inputs if isinstance(each, Tensor)]
        for each in read:
            each.fill()
        whole = gathered(tensors, results, functions, graph.name)
    after = guarded(whole, guards)
    new = moved(whole, after)
    return Imported(
        after,
        [new.get(each, each) if isinstance(each, Tensor) else each for each in inputs],
        following(functions, new),
        outputs,
        importer.fallback.calls,
        coverage,
        device,
        [each for each in read if each.reading is Reading.WATCHED],
        given,
        assigned,
    )


def argument(tensor: tf.Tensor, device: str) -> Tensor | HostValue:
    """What stands for an argument of the function: an input of the graph, if it has numbers."""
    name = tensor.op.name
    if not is_plain(tensor.dtype):
        return HostValue(tf.TensorSpec(tensor.shape, tensor.dtype), name)
    if tensor.shape.rank is None:
        raise BadArgument(
            f"the argument {name!r} has no number of axes",
            help="give a spec, tf.TensorSpec((None, 3), tf.float32), when it is compiled",
        )
    sizes = enumerate(tensor.shape.as_list())
    shape = tuple(Var(f"{name}.{axis}", i32) if size is None else size for axis, size in sizes)
    return Tensor(TensorType(hidet_dtype(tensor.dtype), shape), device, name=name)
