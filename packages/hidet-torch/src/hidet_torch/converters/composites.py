"""Composite operators that have a converter: AOTAutograd leaves them as they are.

PyTorch takes these apart in the dispatcher, where no table of decompositions reaches. So while a
graph is traced their kernels are exchanged, as `torch.export` does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch._export.utils import _special_op_to_preserve_cia as preserve
from torch.export.exported_program import _override_composite_implicit_decomp as overridden

from hidet_torch.converters.table import aten
from hidet_torch.converters.table import torch as converters
from hidet_torch.converters.transforms import untransformed

OWN = (aten.linear.default, aten.scaled_dot_product_attention.default)
"""What `whole.py` has operators for; the calls that it leaves alone are better taken apart."""


@contextmanager
def composites_kept(graph_module: torch.fx.GraphModule) -> Iterator[None]:
    """In this block tracing a graph keeps composites, but for a graph with transforms of
    `torch.func`: kept ones have neither a gradient nor a rule for batches."""
    if any(each.op == "call_function" for each in transformed(graph_module)):
        yield
        return
    with overridden(composites()):
        yield


def transformed(graph_module: torch.fx.GraphModule) -> set[torch.fx.Node]:
    """The nodes that a transform is around, of the graph and of the graphs inside of it."""
    graphs = [each for each in graph_module.modules() if isinstance(each, torch.fx.GraphModule)]
    every = {node for each in graphs for node in each.graph.nodes}
    return every.difference(untransformed(graph_module))


@cache
def composites() -> dict[torch._ops.OpOverload, Callable[..., Any]]:
    """The composites of the table of converters, each with what keeps it from being taken apart."""
    found = (each for each in converters if isinstance(each, torch._ops.OpOverload))
    return {each: preserve for each in found if each not in OWN and each._can_decompose()}
