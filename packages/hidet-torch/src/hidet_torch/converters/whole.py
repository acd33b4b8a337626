"""Operators that AOTAutograd would take apart, kept whole: attention, linear, RMS norm.

Unlike the other composites (`composites.py`) they are kept for some arguments only, and attention
is stored in one way whatever kernel PyTorch would choose. Where no gradients are needed the calls
in the Dynamo graph are rewritten to operators of our own, which have no gradients; those under a
transform of `torch.func` stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.utils._pytree import tree_map

from hidet_torch.converters.transforms import untransformed

LIBRARY = torch.library.Library("hidet_fx", "FRAGMENT")
LIBRARY.define(
    "sdpa(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor"
)
LIBRARY.define("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
LIBRARY.define(
    "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) "
    "-> Tensor"
)
SDPA: Any = torch.ops.hidet_fx.sdpa.default
LINEAR: Any = torch.ops.hidet_fx.linear.default
RMS_NORM: Any = torch.ops.hidet_fx.rms_norm.default

WHOLE: dict[Any, Any] = {
    functional.scaled_dot_product_attention: SDPA,
    torch._C._nn.linear: LINEAR,
    functional.linear: LINEAR,
    torch.rms_norm: RMS_NORM,
    functional.rms_norm: RMS_NORM,
}


@contextmanager
def kept_whole(graph_module: torch.fx.GraphModule) -> Iterator[None]:
    """In this block the calls in a Dynamo graph, and in graphs inside of it, are kept whole."""
    graphs = [each for each in graph_module.modules() if isinstance(each, torch.fx.GraphModule)]
    kept = {node: node.target for node in rewritable(graph_module)}
    retarget(graphs, {node: WHOLE[target] for node, target in kept.items()})
    try:
        yield
    finally:
        retarget(graphs, kept)


def rewritable(graph_module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    """The calls of a graph, and of those inside of it, that can be kept whole."""
    nodes = untransformed(graph_module)
    found = [node for node in nodes if node.op == "call_function" and node.target in WHOLE]
    return [node for node in found if not (drops(node) or out_of_rank(node))]


def retarget(graphs: Sequence[torch.fx.GraphModule], targets: Mapping[torch.fx.Node, Any]) -> None:
    """Let nodes call something else."""
    for node, target in targets.items():
        node.target = target
    for module in graphs if targets else ():
        module.recompile()


def drops(node: torch.fx.Node) -> bool:
    """Whether it is attention with dropout, which PyTorch does with its own random numbers."""
    rate = node.args[4] if len(node.args) > 4 else node.kwargs.get("dropout_p", 0.0)
    return WHOLE[node.target] is SDPA and rate != 0.0


def out_of_rank(node: torch.fx.Node) -> bool:
    """Whether it is a linear of a vector of weights, which is not a matmul."""
    weight = node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")
    value = getattr(weight, "meta", {}).get("example_value")
    return WHOLE[node.target] is LINEAR and value is not None and value.ndim != 2


# ---- what they do when they are run ------------------------------------------------------------


def sdpa(query: torch.Tensor, *others: Any, **named: Any) -> torch.Tensor:
    """Attention by PyTorch, stored as `fake_sdpa` says: which kernel it chose decides otherwise."""
    found = functional.scaled_dot_product_attention(query, *others, **named)
    if found.ndim < 3:
        return found.contiguous()
    return found.transpose(-3, -2).contiguous().transpose(-3, -2)


def fake_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Its shape; stored rows before heads, so that merging the heads again is a view.

    Sizes that attention needs to be equal are equal from here on: symbolic ones become one symbol.
    """
    torch._check(key.shape[-2] == value.shape[-2])
    torch._check(query.shape[-1] == key.shape[-1])
    batch = query.shape[:-2]
    if not enable_gqa:
        batch = torch.broadcast_shapes(batch, key.shape[:-2], value.shape[:-2])
    rows, size = query.shape[-2], value.shape[-1]
    if not batch:
        return query.new_empty(rows, size)
    return query.new_empty(*batch[:-1], rows, batch[-1], size).transpose(-3, -2)


def fake_linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Its shape."""
    return x.new_empty(*x.shape[:-1], weight.shape[0])


def fake_rms_norm(
    x: torch.Tensor,
    shape: Sequence[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> torch.Tensor:
    """Its shape."""
    kind = x.dtype if weight is None else torch.promote_types(x.dtype, weight.dtype)
    return x.new_empty(x.shape, dtype=kind)


# ---- autocast ----------------------------------------------------------------------------------


def below(key: str, device: str, function: Any, lower: bool) -> Any:
    """The kernel of an autocast key: lowers the precision if asked to, and goes on below it."""
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def run(*args: Any, **kwargs: Any) -> torch.Tensor:
        if lower:
            to = torch.get_autocast_dtype(device)
            args, kwargs = tree_map(lowered(to), (args, kwargs))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return function(*args, **kwargs)

    return run


def lowered(to: torch.dtype) -> Any:
    """A function that brings floating-point tensors to a type, as autocast does."""

    def change(value: Any) -> Any:
        eligible = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(to) if eligible and value.dtype is not torch.float64 else value

    return change


def define(name: str, target: Any, run: Any, fake: Any, lower: bool) -> None:
    """Say what one of the operators does: run, of example tensors, and under autocast."""
    LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"hidet_fx::{name}", fake, lib=LIBRARY)
    for key, device in (("AutocastCPU", "cpu"), ("AutocastCUDA", "cuda")):
        LIBRARY.impl(name, below(key, device, target, lower), key)


define("sdpa", SDPA, sdpa, fake_sdpa, lower=True)
define("linear", LINEAR, functional.linear, fake_linear, lower=True)
define("rms_norm", RMS_NORM, functional.rms_norm, fake_rms_norm, lower=False)
