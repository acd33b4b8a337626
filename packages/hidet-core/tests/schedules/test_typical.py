"""What unknown sizes count as, and that fast schedules are chosen all the same."""

import pytest

from hidet.build.choosing.choices import choices, detour
from hidet.ir.expr import Var
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.schedules import load
from hidet.schedules.contraction import contiguity
from hidet.schedules.typical import CALLS, IMAGES, TYPICAL, estimated, expected, typical
from hidet.target import Target
from hidet.types import bf16, f16, f32, i32

assert load.LOADED
TARGET = Target.parse("sm_90a")
B, S, P = (Var(name, i32) for name in "bsp")
AROUND = ((1, 1), (1, 1))


def test_an_expression_counts_as_what_it_comes_to():
    assert estimated(7) == 7
    assert estimated(B) == TYPICAL
    assert estimated(B * 56 * 56) == TYPICAL * 56 * 56
    assert estimated(B * 56 * 56, images=B) == IMAGES * 56 * 56
    assert estimated(B - 1000) == 0


def test_contiguity_of_multiples():
    assert contiguity(B) == 1
    assert contiguity(B * 8) == 8
    assert contiguity(B * 24 + 4) == 4
    assert contiguity(B * 32) == contiguity(64) == 16


def test_typical_calls_have_numbers_for_sizes():
    op = Linear(f16[B, S, 64], f16[64, 64], None)
    assert typical(op, TARGET) == [op.with_sizes({B: n, S: n}.get) for n in CALLS]
    assert typical(f16[B, 3], TARGET) == [f16[size, 3] for size in CALLS]
    known = op.with_sizes(lambda _: 5)
    assert typical(known, TARGET) == [known]
    assert typical(op, Target.parse("cpu+avx2")) == [op]


def test_a_call_that_an_operator_does_not_take_is_left_out():
    """In four pixels there is no window of seven."""
    op = Conv(f16[1, 8, S, S], f16[8, 8, 7, 7], None, (1, 1), ((0, 0),) * 2, (1, 1), 1)
    assert [call.x.shape[-1] for call in typical(op, TARGET)] == [max(CALLS)]


def test_being_twice_as_slow_weighs_the_same_at_any_size():
    assert expected([3.7]) == 3.7
    assert expected([2.0, 8.0]) == expected([1.0, 16.0]) == 4.0


CHOSEN = [
    (Conv(f16[B, 28, 28, 128], f16[128, 3, 3, 128], None, (1, 1), AROUND, (1, 1), 1, True),
     "conv_wgmma"),
    (Conv(f16[1, B, S, 128], f16[128, 3, 3, 128], None, (1, 1), AROUND, (1, 1), 1, True),
     "conv_wgmma"),
    (Linear(f16[B, S, 768], f16[768, 768], None), "matmul_wgmma"),
    (Linear(bf16[B, 3072], bf16[768, 3072], None), "matmul_wgmma"),
    (Matmul(f16[B * 64, 512], f16[512, S * 128]), "matmul_wgmma"),
    (Linear(f32[B, S, 768], f32[768, 768], None), "matmul_wgmma_single"),
    (Attention(*(f16[B, 12, S, 64],) * 3, None, False, 0.1), "attention_wgmma"),
    (Attention(f16[B, 32, S, 64], *(f16[B, 8, S + P, 64],) * 2, None, False, 0.1),
     "attention_wgmma"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "schedule"), CHOSEN, ids=str)
def test_sizes_that_only_calls_tell_take_no_fast_schedule_away(op, schedule):
    assert choices(op, TARGET)[0].schedule.name == schedule


def test_a_way_through_memory_counts_in_the_same_calls():
    times = [detour(f16[size, 4096, 64], TARGET) for size in (*CALLS, TYPICAL)]
    assert times[0] < detour(f16[B, 4096, 64], TARGET) < times[1] < times[2]
