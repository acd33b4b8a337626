"""Which operators are taken apart before hidet sees them: those that it has no converter for."""

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
from torch.export import ExportedProgram

from hidet_torch.calling.structures import plain, require_whole
from hidet_torch.converters.table import torch as converters

aten = torch.ops.aten

FURTHER = [
    aten.as_strided_copy.default,
    aten.narrow_copy.default,
    aten.new_empty_strided.default,
    aten.permute_copy.default,
    aten.unbind_copy.int,
    aten.view_copy.default,
    aten.view_copy.dtype,
    aten.dist.default,
    aten.ldexp.Tensor,
    aten.triu_indices.default,
    aten.tril_indices.default,
]
"""Operators that PyTorch counts as elementary and can take apart nevertheless."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The table to give to AOTAutograd, for the caller to change."""
    return dict(taken_apart())


def exported_decompositions() -> dict[Any, Callable[..., Any]]:
    """The table to give to an exported program, in which composites stay that the table lacks.

    AOTAutograd takes these apart by itself; listing them takes a tenth of a second.
    """
    return {**without_converted(core_aten_decompositions()), **taken_apart()}


@cache
def taken_apart() -> MappingProxyType[Any, Callable[..., Any]]:
    """What both take apart, looked up once in a process."""
    table = {**_core_aten_decompositions_post_autograd(), **get_decompositions(FURTHER)}
    return MappingProxyType(without_converted(table))


def without_converted(table: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """A table without the operators that have a converter; other overloads of them become those."""
    return {op: f for op, f in table.items() if op not in converters}


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """An exported program in the operators that are compiled; its inputs and results are nested as
    before."""
    (signature,) = [each.signature for each in program.module_call_graph if not each.fqn]
    assert signature is not None, "the whole has one"
    nested = signature.in_spec, signature.out_spec
    for each in nested:
        require_whole(each)
    # PyTorch would make objects of symbols again, and take what they do to these into the graph.
    signature.in_spec, signature.out_spec = map(plain, nested)
    try:
        found = program.run_decompositions(exported_decompositions())
    finally:
        signature.in_spec, signature.out_spec = nested
    (own,) = [each.signature for each in found.module_call_graph if not each.fqn]
    assert own is not None, "the whole has one"
    own.in_spec, own.out_spec = nested
    return found
