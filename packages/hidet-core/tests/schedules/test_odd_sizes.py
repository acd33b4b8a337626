"""Every schedule for CUDA, and the automatic one, simulated on sizes that no tile divides.

The operators' own samples are taken with other extents: equal extents stay equal, each becomes one
of `ODD`. Where attributes fit only the sample's own extents, or long sums and products are more
than the operator's tolerance allows, definition and reference no longer agree: these are left out.
What is simulated are the kernels as they are launched: after all passes.
"""

from dataclasses import replace
from functools import cache
from itertools import islice
from math import prod

import numpy as np
import pytest

from hidet import seams, sim
from hidet.compute import evaluate
from hidet.errors import HidetError
from hidet.graph import OPERATORS, refer
from hidet.graph.operator import operand_names
from hidet.ops.products.attention import Attention
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.ops.reductions.partial_statistics import LinearMoments, NormedLinear
from hidet.ops.tensors.create import Arange, Full
from hidet.ops.windows.conv import Conv
from hidet.schedules import load
from hidet.schedules.automatic import automatic_schedule
from hidet.schedules.base import SCHEDULES
from hidet.target import Target
from hidet.testing.asked import asked
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.types import TensorType, bf16, f16, f32, i8, i32, i64, u8

seams.call("load_operators")
TARGET = Target.parse("sm_90a")
ODD = (7, 33, 2, 129, 1)
MOST_ELEMENTS = 10_000
"""Of one tensor: what is larger takes longer and shows nothing more."""
SAMPLES = 2
"""How many samples of an operator are taken with other extents."""


def resized(op):
    """The operator with other extents, in as many ways as make sense for it."""
    extents = sorted({size for each in op.types() for size in each.shape if size > 1})
    for first in range(len(ODD)):
        sizes = {e: ODD[(first + n) % len(ODD)] for n, e in enumerate(extents)}
        changed = {name: change(getattr(op, name), sizes) for name in operand_names(type(op))}
        found = replace(op, **changed)
        if agrees(found):
            yield found


def agrees(op):
    """Whether it is a sample: not too large, and definition and reference agree."""
    try:
        shapes = [each.shape for each in (*op.types(), *op.results())]
        if not all(0 < prod(shape) <= MOST_ELEMENTS for shape in shapes):
            return False
        arrays = op.examples(seed=0)
        check(op, evaluate(op.definition(), *arrays), refer(op, arrays))
    except (HidetError, ValueError, IndexError, AssertionError):
        return False
    return True


def check(op, found, expected):
    """The results are the reference's, as near as they have to be."""
    each = zip(found, expected, op.results(), op.precisions(), strict=True)
    for value, wanted, of, dtype in each:
        assert value.shape == wanted.shape == of.shape
        assert_close(value, wanted, dtype, op.factor)


def change(operand, sizes):
    """An operand field with other extents."""
    if isinstance(operand, tuple):
        return tuple(change(each, sizes) for each in operand)
    if not isinstance(operand, TensorType):
        return operand
    return operand.with_(shape=tuple(sizes.get(size, size) for size in operand.shape))


def odd(kind):
    """The operator with odd extents."""
    with np.errstate(all="ignore"):
        some = (found for op in kind.samples() if op.types() and (found := list(resized(op))))
        few = list(islice(some, SAMPLES))
    return [op for found in few for op in found] + MORE.get(kind.name, [])


def slices(kind):
    """Slices of every odd length, with steps."""
    for n in ODD:
        yield kind(f32[n, 131], (n // 2, 1), (n - n // 2, 43), (1, 3))


HANDING = [
    *(LinearMoments(f16[n, 40], f16[64, 40], f16[64], f16[n, 64]) for n in ODD),
    *(LinearMoments(bf16[n, 8], bf16[8, 192], None, bf16[n, 192], transpose_b=False) for n in ODD),
    *(
        LinearMoments(
            f16[n, 40],
            f16[192, 40],
            f32[192],
            f16[n, 192],
            f32[n, 3, 2],
            f16[192],
            f16[192],
            eps=1.0,
        )
        for n in ODD
    ),
]
NORMING = [
    *(
        NormedLinear(f16[n, 64], f16[33, 64], f32[n, 1, 2], f32[33], f32[33], True, 1e-3)
        for n in ODD
    ),
    *(
        NormedLinear(bf16[n, 192], bf16[192, 8], f32[n, 3, 2], f32[8], None, False, 1.0)
        for n in ODD
    ),
]
"""Columns of which there are moments come in runs of 64."""
MORE = {
    "linear_moments": HANDING,
    "normed_linear": NORMING,
    "full": [Full((n, 131), 3, f32) for n in ODD],
    "arange": [Arange(1, 2, n, f32) for n in ODD],
    "reshape": [OPERATORS["reshape"](f32[n, 131], (131 * n,)) for n in ODD],
    "slice": list(slices(OPERATORS["slice"])),
    "slice_scatter": [
        OPERATORS["slice_scatter"](f32[n, 131], f32[n, 43], 1, 1, 3) for n in ODD
    ],
    "cosine_window": [OPERATORS["cosine_window"](n, (0.5, 0.5), True, f32) for n in ODD],
    "dft_matrix": [
        OPERATORS["dft_matrix"](n, n // 2 + 1, n, False, True, False, False, f32) for n in ODD
    ],
    "complex_product": [
        OPERATORS["complex_product"](f32[3, n, 7, 2], f32[n, 7, 2]) for n in ODD
    ],
    "resize_taps": [
        replace(op, source=n, count=2 * n + 1, scale=None)
        for op in list(OPERATORS["resize_taps"].samples())[5:6]
        for n in ODD
    ],
    "roi_align": [
        replace(op, x=f32[2, 3, n, 7])
        for op in list(OPERATORS["roi_align"].samples())[:1]
        for n in ODD
        if n < 100  # a place far away is less precise in float32 than the sums
    ],
    "packed_linear": [
        OPERATORS["packed_linear"](f32[n, 40], u8[7, 24], f32[7, 3], None, None, 16) for n in ODD
    ],
    "fold": [
        OPERATORS["fold"](
            f32[2, 6, 2 * n], (n, 3), (1, 2), (1, 1), ((0, 0), (0, 0)), (1, 1)
        )
        for n in ODD
    ],
    "deform_columns": [
        OPERATORS["deform_columns"](
            f32[1, 2, n + 2], f32[1, 3, n], f32[1, 3, n], (3,), (1,), ((0, 0),), (1,)
        )
        for n in ODD
    ],
}  # fmt: skip
WITHOUT_EXTENTS = {"size_value"}
"""What gives one number, of no tensor."""
DEFINED = {
    name: kind
    for name, kind in OPERATORS.items()
    if name not in WITHOUT_EXTENTS and kind.kind == "kernels"
}


@pytest.mark.parametrize("kind", DEFINED.values(), ids=DEFINED.keys())
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
def test_the_automatic_schedule(kind):
    found = odd(kind)
    assert len(found) >= 2
    for op in found:
        definition = op.definition()
        simulated(op, automatic_schedule("kernel", definition.inputs, definition.outputs, TARGET))


CONVOLUTIONS = [
    Conv(kind[n, 3, 7, 13], kind[5, 3, 3, 3], kind[5], (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    for n, kind in ((1, f16), (2, f32), (7, bf16))
] + [
    Conv(f16[1, 33, 1, 129], f16[7, 33, 1, 2], None, (1, 2), ((0, 0), (1, 0)), (1, 1), 1),
    Conv(f32[2, 6, 11, 2], f32[9, 2, 5, 1], f32[9], (2, 1), ((2, 2), (0, 0)), (1, 1), 3),
    Conv(f16[2, 7, 33, 1], f16[7, 1, 3, 1], f16[7], (1, 1), ((1, 1), (0, 0)), (1, 1), 7),
    Conv(f32[1, 33, 5, 17], f32[33, 1, 3, 3], None, (2, 2), ((1, 0), (2, 1)), (1, 1), 33),
    Conv(f32[2, 3, 17, 13], f32[7, 3, 4, 3], f32[7], (4, 3), ((0, 0), (0, 0)), (1, 1), 1),
] + [
    Conv(kind[1, 7, 5, c], kind[k, 3, 3, c], kind[k], (1, 1), ((1, 1), (1, 1)), (1, 1), 1, True)
    for c, k, kind in (
        (1, 33, f16), (2, 129, f16), (3, 7, bf16), (7, 2, f16), (33, 1, f16), (129, 3, f32),
        (4, 33, f16), (8, 7, bf16), (24, 129, f16),
    )
] + [
    Conv(f16[2, 11, 2, 16], f16[6, 5, 1, 8], f16[6], (2, 1), ((2, 2), (0, 0)), (1, 1), 2, True),
    Conv(f16[1, 9, 13, 12], f16[9, 3, 2, 4], None, (2, 3), ((1, 0), (2, 1)), (2, 3), 3, True),
    Conv(f16[1, 129, 6], f16[7, 3, 6], f16[7], (2,), ((1, 1),), (1,), 1, True),
    Conv(f16[1, 3, 7, 2, 8], f16[33, 2, 1, 2, 8], None, (1,) * 3, ((0, 0),) * 3, (1,) * 3, 1, True),
    Conv(bf16[2, 33, 1, 7], bf16[7, 3, 1, 1], bf16[7], (1, 1), ((1, 1), (0, 0)), (1, 1), 7, True),
    Conv(f16[1, 5, 17, 40], f16[40, 3, 3, 1], None, (2, 2), ((1, 0), (2, 1)), (1, 1), 40, True),
    Conv(f16[1, 9, 7, 3], f16[6, 3, 5, 1], f16[6], (1, 1), ((1, 1), (4, 0)), (1, 2), 3, True),
]  # fmt: skip
ANCHORS = [
    *odd(Matmul),
    *odd(Linear),
    *(Matmul(kind[n, 131], kind[131, m]) for kind in (f16, f32) for n, m in ((1, 129), (129, 7))),
    *(Linear(bf16[n, 37], bf16[33, 37], bf16[33]) for n in ODD),
    *(Linear(f16[n, 136], f16[33, 136], f16[33]) for n in ODD),  # rows that a tensor map may have
    *(Linear(f16[n, k], f16[33, k], f16[33]) for n, k in ((1, 66), (33, 8), (129, 148))),
    Matmul(f16[3, 40, 33], f16[3, 33, 6]),
    Matmul(f16[66, 7], f16[66, 12], transpose_a=True),
    *CONVOLUTIONS,
    *odd(Attention),
    *(Attention(bf16[1, n, 33], bf16[1, 131, 33], bf16[1, 131, n], None, n > 7, 0.2) for n in ODD),
    *(Attention(f16[2, n, 40], f16[1, 131, 40], f16[1, 131, 72], None, n > 7, 0.2) for n in ODD),
    *(Attention(f32[2, n, 40], f32[1, 131, 40], f32[1, 131, 8], None, n > 7, 0.2) for n in (7, 33)),
    *HANDING,
    *NORMING,
    *(GroupedMatmul(t[n, 33], t[3, 33, 7], i32[3]) for t in (f32, f16) for n in (1, 129)),
    *(GroupedMatmul(f16[n, 136], f16[2, 33, 136], i32[2], True) for n in (7, 33)),
    GroupedMatmul(bf16[33, 40], bf16[5, 40, 72], i64[5]),
    *(PackedLinear(f32[n, 40], u8[7, 24], f32[7, 3], None, None, 16) for n in (1, 7)),
    PackedLinear(f32[2, 3, 129], u8[33, 80], f32[33, 5], u8[33, 5], f32[33], 32),
    *(Matmul(u8[n, 48], i8[17, 48], False, True, i32) for n in (1, 129)),
    *(
        Conv(u8[n, 5, 7, 6], i8[13, 5, 3, 2], None, (1, 1), ((1, 1), (0, 1)), (1, 1), 1, dtype=i32)
        for n in (1, 2)
    ),
    *(
        Conv(u8[n, 7, 5, 4], i8[13, 3, 3, 4], None, (2, 1), ((1, 0),) * 2, (1, 1), 1, True, i32)
        for n in (1, 7)
    ),
]
CUDA = [schedule for schedule in SCHEDULES if load.LOADED and schedule.target == "cuda"]


@cache
def taken(schedule):
    """The operators that a schedule takes, each at one point: at the cheapest and at one in the
    middle in turns."""
    found = {}
    with asked(schedule):
        for op in ANCHORS:
            points = [each.point for each in schedule.candidates(op, TARGET)]
            if points:
                found[op] = points[len(points) // 2 if len(found) % 2 else 0]
    return found


@pytest.mark.parametrize("schedule", CUDA, ids=lambda schedule: schedule.name)
def test_every_schedule_has_operators_here(schedule):
    assert len(taken(schedule)) >= 2


@pytest.mark.parametrize("op", ANCHORS, ids=str)
def test_scheduled_operators(op):
    for schedule in CUDA:
        if op in taken(schedule):
            short = schedule.name.endswith("tf32")
            with asked(schedule):
                module = schedule.apply(op, TARGET, taken(schedule)[op]).module
                simulated(op, module, short)


def simulated(op, module, short=False, target=TARGET):
    """The kernels of a module, lowered, give what the reference says; operands may be `short`."""
    arrays = op.examples(seed=0)
    if short:  # numbers that tf32 holds, so that nothing is lost but in sums
        arrays = [(np.asarray(a).view(np.uint32) & 0xFFFFE000).view(np.float32) for a in arrays]
    found = [np.ones(each.shape, each.dtype.numpy) for each in op.results()]
    sim.launch(as_run(module, target), *arrays, *found)
    check(op, found, refer(op, arrays))
