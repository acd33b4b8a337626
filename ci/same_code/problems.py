"""Operators that every CUDA schedule is tried with: for each, those here that it fits."""

from __future__ import annotations

from contextlib import AbstractContextManager

from hidet.graph.operator import Op
from hidet.ops.products.attention import Attention
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.ops.reductions.partial_statistics import LinearMoments, NormedLinear
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.schedules.base import Schedule
from hidet.target import Target
from hidet.types import DType, bf16, f16, f32, i8, i32, i64

TARGET = Target.parse("sm_90a")
EACH = 2
"""How many operators a schedule is tried with at least, of whatever element types."""
AROUND, NOTHING, ONES = ((1, 1), (1, 1)), ((0, 0), (0, 0)), (1, 1)

PROBLEMS: tuple[Op, ...] = (
    Linear(f16[128, 768], f16[2304, 768], None),
    Matmul(bf16[4, 197, 200], bf16[4, 200, 136]),
    Linear(f16[4, 768], f16[2304, 768], None),
    Linear(bf16[1, 1000], bf16[616, 1000], None),
    Linear(f32[128, 512], f32[512, 512], None),
    Matmul(f32[4, 197, 200], f32[4, 200, 136]),
    Linear(f32[2, 512], f32[776, 512], None),
    Matmul(i8[197, 768], i8[2304, 768], transpose_b=True, dtype=i32),
    Matmul(i8[64, 200], i8[200, 136], dtype=i32),
    Conv(f16[2, 28, 28, 128], f16[128, 3, 3, 128], None, ONES, AROUND, ONES, 1, True),
    Conv(f16[1, 56, 56, 64], f16[72, 1, 1, 64], None, (2, 2), NOTHING, ONES, 1, True),
    Conv(f16[1, 64, 14, 15], f16[72, 64, 3, 3], None, ONES, AROUND, ONES, 1),
    Conv(f16[1, 65, 65, 3], f16[64, 7, 7, 3], None, (2, 2), ((3, 3),) * 2, ONES, 1, True),
    Conv(f32[1, 28, 28, 64], f32[72, 3, 3, 64], None, ONES, AROUND, ONES, 1, True),
    Conv(f32[1, 64, 14, 15], f32[72, 64, 3, 3], None, ONES, AROUND, ONES, 1),
    Conv(f16[1, 64, 28, 28], f16[64, 1, 3, 3], None, ONES, AROUND, ONES, 64),
    Conv(f32[1, 28, 29, 96], f32[96, 7, 7, 1], None, ONES, ((3, 3),) * 2, ONES, 96, True),
    Conv(i8[2, 28, 28, 64], i8[72, 3, 3, 64], None, ONES, AROUND, ONES, 1, True, i32),
    Conv(i8[1, 64, 14, 15], i8[72, 64, 3, 3], None, ONES, AROUND, ONES, 1, False, i32),
    GroupedMatmul(f16[197, 64], f16[4, 72, 64], i64[4], transpose_w=True),
    GroupedMatmul(f32[197, 64], f32[4, 64, 72], i64[4]),
    Attention(f16[1, 12, 512, 64], f16[1, 12, 512, 64], f16[1, 12, 512, 64], None, True, 0.125),
    Attention(bf16[2, 8, 1, 128], bf16[2, 2, 333, 128], bf16[2, 2, 333, 128], None, False, 0.125),
    Attention(f32[1, 4, 197, 64], f32[1, 4, 197, 64], f32[1, 4, 197, 64], None, False, 0.125),
)  # fmt: skip


def problems_of(schedule: Schedule) -> list[Op]:
    """The first operators here that a schedule fits, and of each further element type the first;
    operators of rare kinds come as samples."""
    rare = (op for kind in RARE for op in kind.samples())
    with settings_of(schedule):
        found = [op for op in (*PROBLEMS, *rare) if schedule.fits(op, TARGET)]
    kept = found[:EACH]
    for op in found[EACH:]:
        if dtype_of(op) not in map(dtype_of, kept):
            kept.append(op)
    return kept


def dtype_of(op: Op) -> DType:
    """The element type of an operator's first operand."""
    return op.types()[0].dtype


def settings_of(schedule: Schedule) -> AbstractContextManager[None]:
    """The options that a schedule asks for."""
    units = "simt" if schedule.name == "attention_simt" else "mma"
    return options(tf32=schedule.name.endswith("tf32"), mma=units)


RARE: tuple[type[Op], ...] = (GroupedMatmul, LinearMoments, NormedLinear, PackedLinear)
"""Kinds of operators that one or two schedules are for."""
