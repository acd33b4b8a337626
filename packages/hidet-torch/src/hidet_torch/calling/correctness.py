"""The correctness report of a compiled call: on the arguments of its first call, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from hidet.frontend.correctness import Report, Row, correctness_report, error_of_results
from hidet.frontend.correctness import harmonic_error as error_of
from hidet.graph import Foreign, Node, Tensor
from hidet.options import tf32
from hidet.types import TensorType, u8
from hidet_torch.calling.run import CompiledCall, reader
from hidet_torch.importing.imported import Imported
from hidet_torch.memory.dtypes import hidet_dtype
from hidet_torch.memory.tensors import storage_of, tensor_of
from hidet_torch.settings import Settings


def report_first(
    call: CompiledCall,
    module: torch.fx.GraphModule,
    frozen: Mapping[torch.fx.Node, torch.Tensor],
    settings: Settings,
    then: Callable[[], object] | None = None,
) -> None:
    """Let the first call print a report; what it computes and writes to is as without one.

    `then` is done after it.
    """
    usual = call.run

    def first(boxed: list[Any]) -> list[Any]:
        call.run = usual
        given = [copied(each) for each in boxed]
        found = usual(boxed)
        with torch.no_grad(), settings.in_force():
            print(report(call, module, frozen, given, found, settings.correctness_report))
            if then is not None:
                then()
        return found

    call.run = first


def report(
    call: CompiledCall,
    module: torch.fx.GraphModule,
    frozen: Mapping[torch.fx.Node, torch.Tensor],
    given: Sequence[Any],
    found: Sequence[Any],
    against: str,
) -> Report:
    """How far operators are off for these arguments, and the results from PyTorch's."""
    imported = call.imported
    inputs = graph_inputs(call, given)
    eager = Recorded(module)
    with convolutions_as_products():
        meant = eager.run(*[copied(each) for each in with_weights(module, frozen, given)])
    made = correctness_report(
        imported.graph,
        inputs,
        eager_values(imported, eager.seen),
        against == "float64",
        outputs=False,
    )
    return Report((*made.rows, *output_rows(found, meant, imported.graph.nodes)))


@contextmanager
def convolutions_as_products() -> Iterator[None]:
    """In this block PyTorch's float32 convolutions use tf32 only where products do, as ours.

    By default they do anyway: the report would show errors of PyTorch's.
    """
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = tf32.get()
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


class Recorded(torch.fx.Interpreter):
    """Runs a graph in PyTorch; `seen` has the values of all its nodes as they were made."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.seen: dict[torch.fx.Node, Any] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        """One node."""
        found = super().run_node(n)
        self.seen[n] = (
            [copied(e) for e in found] if isinstance(found, tuple | list) else copied(found)
        )
        return found


def copied(value: Any) -> Any:
    """A tensor with memory of its own, in the same order; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone(memory_format=torch.preserve_format)


def with_weights(
    module: torch.fx.GraphModule,
    frozen: Mapping[torch.fx.Node, torch.Tensor],
    given: Sequence[Any],
) -> list[Any]:
    """The arguments, weights as they are now."""
    nodes = module.graph.find_nodes(op="placeholder")
    return [frozen.get(node, value) for node, value in zip(nodes, given, strict=True)]


def graph_inputs(call: CompiledCall, given: Sequence[Any]) -> list[Tensor]:
    """The inputs of the graph with values."""
    imported = call.imported
    views = [reader(each, call.device)(given) for each in imported.inputs]
    found = [of_torch(tensor_of(view)) for view in views]
    symbols = call.read_symbols(given) if call.needs_symbols else {}
    for name in imported.carriers:
        zeros = np.zeros(symbols[name], np.uint8)
        found.append(Tensor(TensorType(u8, zeros.shape), "cpu", zeros).to(call.device))
    return found


def of_torch(tensor: torch.Tensor) -> Tensor:
    """A tensor in rows as one of hidet's."""
    storage = storage_of(tensor)
    of = TensorType(hidet_dtype(tensor.dtype), tuple(storage.shape))
    return Tensor(of, "cpu" if tensor.device.type == "cpu" else storage.device, storage)


def eager_values(imported: Imported, seen: Mapping[torch.fx.Node, Any]) -> dict[Tensor, Any]:
    """What PyTorch computed for tensors of the graph."""
    found: dict[Tensor, Any] = {}
    for node, became in imported.tensors.items():
        if node.op != "call_function":
            continue
        became, values = (each if isinstance(each, tuple | list) else [each]
                          for each in (became, seen.get(node)))  # fmt: skip
        for tensor, value in zip(became, values, strict=False):
            if isinstance(tensor, Tensor) and isinstance(value, torch.Tensor):
                found[tensor] = array_of(value)
    return found | {each: np.zeros(1, np.uint8) for each in tokens(imported)}


def tokens(imported: Imported) -> Iterator[Tensor]:
    """What calls with effects give to the next one, which so comes after them; it has no value."""
    for node in imported.graph.nodes:
        if isinstance(node.op, Foreign) and imported.calls[node.op.key].effects:
            yield node.outputs[-1]


def array_of(value: torch.Tensor) -> Any:
    """A tensor of PyTorch's as an array, complex numbers as pairs."""
    plain = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return storage_of(plain).copy()


def output_rows(found: Sequence[Any], meant: Sequence[Any], nodes: Sequence[Node]) -> list[Row]:
    """A row for each result that is a tensor."""
    rows = []
    for actual, expected in zip(found, meant, strict=True):
        if isinstance(actual, torch.Tensor):
            of = hidet_dtype(actual.dtype)
            error = error_of(array_of(actual), array_of(expected))
            limit = error_of_results(of, nodes) * max(1, len(nodes)) ** 0.5
            rows.append(Row("output", "", of.name, error, limit))
    return rows
