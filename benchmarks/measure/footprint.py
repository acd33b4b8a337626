"""What a network's calls need of memory beside its weights, told from the plans: without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

import hidet_torch
from benchmarks.measure.memory import MIB
from benchmarks.measure.table import number, table
from benchmarks.models import build
from hidet.frontend.footprint import Footprint

TARGET = "sm_90a"
"""An H200."""


@dataclass(frozen=True)
class PlannedRow:
    """One network for one target; `need` is in bytes."""

    network: str
    batch: int
    dtype: str
    target: str
    weights: int
    need: Footprint


def planned(name: str, dtype: torch.dtype, batch: int = 1, target: str = TARGET) -> PlannedRow:
    """The row of a network."""
    model, inputs = build(name, dtype, "cpu", batch)
    tensors = (*model.parameters(), *model.buffers())
    weights = sum({each.data_ptr(): each.nbytes for each in tensors}.values())
    need = hidet_torch.explain(model, *inputs).memory(target)
    return PlannedRow(name, batch, str(dtype).removeprefix("torch."), target, weights, need)


def planned_table(rows: Sequence[PlannedRow]) -> str:
    """The rows as text."""
    headings = ("network", "target", "weights MiB", "derived MiB", "arena MiB", "at least MiB",
                "packing", "outputs MiB", "beside the weights MiB")  # fmt: skip
    lines = []
    for row in rows:
        need = row.need
        mib = [each / MIB for each in (need.derived, need.arena, need.live)]
        lines.append(
            [
                f"{row.network}, {row.dtype}, batch {row.batch}",
                row.target,
                number(row.weights / MIB, ".1f"),
                *(number(each, ".2f") for each in mib),
                number(need.packing, ".3f"),
                number(need.outputs / MIB, ".2f"),
                number(need.peak / MIB, ".2f"),
            ]
        )
    return table(headings, lines)
