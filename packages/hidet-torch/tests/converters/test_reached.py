"""Each converter is reached: PyTorch does not take its operator apart before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from calls import COMPOSITES, OTHERS
from cases import CASES
from torch import nn
from tracing import traced

from hidet_torch.calling.uncompiled import EagerCall
from hidet_torch.capture.aot import for_inference
from hidet_torch.capture.capture import Boxed
from hidet_torch.capture.decompositions import converters, exported_decompositions
from hidet_torch.converters.composites import OWN
from hidet_torch.converters.table import overload
from hidet_torch.settings import Settings

CALLS = {**COMPOSITES, **OTHERS}
CONTROL = {"cond", "while_loop", "scan", "associative_scan", "map_impl"}
"""Higher-order operators, which `test_control.py` calls."""


class Calling(nn.Module):
    """Calls one operator; the arguments that are no tensors stay as they are."""

    def __init__(self, target: Any, given: Sequence[Any]) -> None:
        super().__init__()
        self.target, self.given = target, given

    def forward(self, *tensors: torch.Tensor) -> Any:
        left = iter(tensors)

        def filled(each: Any) -> Any:
            if isinstance(each, torch.Tensor):
                return next(left)
            is_tensors = isinstance(each, list) and isinstance(each[0], torch.Tensor)
            return [*map(filled, each)] if is_tensors else each

        named = self.given[-1] if isinstance(self.given[-1], dict) else {}
        return self.target(*map(filled, self.given[: -1 if named else None]), **named)


def call(name: str) -> tuple[Calling, tuple[torch.Tensor, ...]]:
    """A module that calls the operator, and its inputs."""
    given = CALLS[name]
    flat = [leaf for each in given for leaf in (each if isinstance(each, list) else [each])]
    tensors = tuple(each for each in flat if isinstance(each, torch.Tensor))
    return Calling(overload(name), given), tensors


class Enough(Exception):
    """Ends a call whose graph was looked at."""


def never(*_: Any) -> Any:
    """Stands for the compiled graph: some operators run on other devices only."""
    raise Enough


def by_torch_compile(function: Any, inputs: Sequence[Any]) -> set[Any]:
    """The operators that the importer gets where torch.compile captures a function."""
    found: set[Any] = set()

    def look(
        graph_module: torch.fx.GraphModule,
        frozen: Mapping[torch.fx.Node, torch.Tensor],
        settings: Settings,
    ) -> Boxed:
        found.update(node.target for node in graph_module.graph.nodes)
        return EagerCall(graph_module)

    def backend(graph_module: torch.fx.GraphModule, examples: Sequence[Any]) -> Any:
        for_inference(graph_module, examples, Settings(), compile_graph=look)
        return never

    sizes_of_data = torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
    with torch.no_grad(), sizes_of_data, pytest.raises(Enough):
        torch.compile(function, backend=backend, fullgraph=True)(*inputs)
    return found


def is_kept(name: str) -> bool:
    """Whether `whole.py` has an operator for it, which is what torch.compile reaches."""
    return overload(name) in OWN


@pytest.mark.parametrize("name", [name for name in CALLS if not is_kept(name)])
def test_torch_compile_reaches(name: str) -> None:
    assert overload(name) in by_torch_compile(*call(name))


@pytest.mark.parametrize("name", COMPOSITES)
def test_an_exported_program_reaches(name: str) -> None:
    module, tensors = call(name)
    program = torch.export.export(module, tensors)
    graph = program.run_decompositions(exported_decompositions()).graph
    assert overload(name) in {node.target for node in graph.nodes}


def test_every_converter_has_a_call_or_a_case() -> None:
    """A new one needs a case, or, where its operator is not called by a function, a call."""
    cases = {
        node.target for case in CASES for node in traced(case.function, *case.inputs).graph.nodes
    }
    others = {op for op in converters if isinstance(op, torch._ops.OpOverload)}
    others -= {op for op in others if op.namespace in ("hidet_fx", "prims")}  # test_whole.py
    missing = others - cases - set(map(overload, CALLS))
    assert not missing
    names = {str(op) for op in converters if isinstance(op, torch._ops.HigherOrderOperator)}
    assert names == CONTROL


def test_calls_are_of_operators_without_a_case_or_of_composites() -> None:
    assert not COMPOSITES.keys() & OTHERS.keys()
    assert all(overload(name) in converters for name in CALLS)
