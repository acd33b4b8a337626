"""Models as graphs of operators on tensors."""

from hidet.compute.guards import Guards, assuming
from hidet.graph.apply import apply, apply_all, make_node, placed, recording, tracing
from hidet.graph.body import Body, Region, bodies_of
from hidet.graph.creation import (
    asarray,
    empty,
    empty_like,
    filled,
    from_dlpack,
    from_numpy,
    from_torch,
    manual_seed,
    rand,
    randint,
    randn,
    randn_like,
)
from hidet.graph.evaluate import evaluate, refer
from hidet.graph.flow import FlowGraph, optimize, trace_from
from hidet.graph.foreign import Foreign
from hidet.graph.guards import guarded, guarded_with
from hidet.graph.operator import OPERATORS, Op, family, operator
from hidet.graph.pass_context import PassContext
from hidet.graph.rewrite import replace, rewrite
from hidet.graph.tensor import Node, Tensor, symbol, symbol_like

__all__ = [
    "OPERATORS",
    "Body",
    "FlowGraph",
    "Foreign",
    "Guards",
    "Node",
    "Op",
    "PassContext",
    "Region",
    "Tensor",
    "apply",
    "apply_all",
    "asarray",
    "assuming",
    "bodies_of",
    "empty",
    "empty_like",
    "evaluate",
    "family",
    "filled",
    "from_dlpack",
    "from_numpy",
    "from_torch",
    "guarded",
    "guarded_with",
    "make_node",
    "manual_seed",
    "operator",
    "optimize",
    "placed",
    "rand",
    "randint",
    "randn",
    "randn_like",
    "recording",
    "refer",
    "replace",
    "rewrite",
    "symbol",
    "symbol_like",
    "trace_from",
    "tracing",
]
