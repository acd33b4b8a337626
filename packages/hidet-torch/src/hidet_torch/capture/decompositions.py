"""Which operators are taken apart before hidet sees them: not those that it has whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import torch
from torch._decomp import (
    _core_aten_decompositions_post_autograd,
    core_aten_decompositions,
    get_decompositions,
)

from hidet_torch.converters.table import torch as converters

KEEP = frozenset(
    [
        "gelu",
        "silu",
        "mish",
        "softplus",
        "hardswish",
        "hardsigmoid",
        "hardtanh",
        "elu",
        "leaky_relu",
        "glu",
        "_prelu_kernel",
        "_softmax",
        "_log_softmax",
        "_safe_softmax",
        "logsumexp",
        "native_layer_norm",
        "native_group_norm",
        "_fused_rms_norm",
        "rms_norm",
        "linear",
        "scaled_dot_product_attention",
        "addcmul",
        "addcdiv",
        "lerp",
        "baddbmm",
        "split_with_sizes",
        "unbind",
        "stack",
        "roll",
        "tril",
        "triu",
        "masked_fill",
        "rsub",
        "floor_divide",
        "std",
        "std_mean",
        "var_mean",
        "pixel_shuffle",
        "reflection_pad1d",
        "reflection_pad2d",
        "reflection_pad3d",
        "replication_pad1d",
        "replication_pad2d",
        "replication_pad3d",
        "index_add",
        "index_copy",
        "index_fill",
        "isin",
        "nan_to_num",
        "all",
        "sum",
        "count_nonzero",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
    ]
)
"""Operators that stay whole, by their names: those overloads of them that are converted."""


aten = torch.ops.aten

FURTHER = [
    aten.grid_sampler_2d.default,
    aten.dist.default,
    aten.ldexp.Tensor,
    aten.triu_indices.default,
    aten.tril_indices.default,
    aten.upsample_bilinear2d.vec,
    aten.upsample_nearest2d.vec,
]
"""Operators that PyTorch counts as elementary and can take apart nevertheless."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The table to give to AOTAutograd, for the caller to change."""
    return dict(taken_apart())


def exported_decompositions() -> dict[Any, Callable[..., Any]]:
    """The table to give to an exported program, in which composites stay that the table lacks.

    AOTAutograd takes these apart by itself; listing them takes a tenth of a second.
    """
    return {**without_kept(core_aten_decompositions()), **taken_apart()}


@cache
def taken_apart() -> MappingProxyType[Any, Callable[..., Any]]:
    """What both take apart, looked up once in a process."""
    table = {**_core_aten_decompositions_post_autograd(), **get_decompositions(FURTHER)}
    return MappingProxyType(without_kept(table))


def without_kept(table: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """A table without the operators that stay whole."""
    return {op: f for op, f in table.items() if not stays_whole(op)}


def stays_whole(op: Any) -> bool:
    """Whether an operator is not to be taken apart.

    Overloads that nothing converts would stay in PyTorch: they become the ones that are.
    """
    return op._schema.name.split("::")[1] in KEEP and op in converters
