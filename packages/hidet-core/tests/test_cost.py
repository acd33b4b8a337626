from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.cost import Work, seconds
from hidet.errors import BadArgument
from hidet.ir.expr import Var
from hidet.target import Target
from hidet.types import i32

TARGETS = [Target.parse(name) for name in ("sm_80", "sm_90a", "sm_120", "cpu", "cpu+avx512")]
AMOUNTS = st.floats(0, 1e12)


@settings(max_examples=150)
@given(
    st.sampled_from(TARGETS),
    st.builds(
        Work,
        bytes_read=AMOUNTS,
        bytes_written=AMOUNTS,
        flops=AMOUNTS,
        blocks=st.integers(1, 5000),
        block_threads=st.sampled_from([32, 128, 1024]),
    ),
    st.sampled_from(["bytes_read", "bytes_written", "flops", "launches", "latencies"]),
)
def test_more_work_is_never_cheaper(target, work, field):
    more = replace(work, **{field: getattr(work, field) * 2 + 1})
    assert 0 < seconds(work, target) <= seconds(more, target)
    slower = replace(target, memory_bandwidth=target.memory_bandwidth / 2)
    assert seconds(work, target) <= seconds(work, slower)


def test_a_large_copy_takes_the_measured_time():
    copy = Work(2**30, 2**30, 0, blocks=2**14)
    assert seconds(copy, Target.parse("sm_90a")) == pytest.approx(2**31 / 4.24e12, rel=0.05)


def test_a_large_matmul_is_near_the_measured_time():
    size = 8192
    work = Work(
        bytes_read=4 * size**2,
        bytes_written=2 * size**2,
        flops=2 * size**3,
        dtype="float16",
        blocks=(size // 128) * (size // 256),
        block_threads=384,
        tensor_core=True,
    )
    assert seconds(work, Target.parse("sm_90a")) == pytest.approx(2 * size**3 / 674e12, rel=0.1)


def test_the_tail_of_a_wave_costs_a_whole_step():
    target = Target.parse("sm_90a")
    full = Work(0, 0, 1e12, blocks=132)
    # The same work for each block, one block more: nearly twice as long.
    tail = replace(full, flops=1e12 * 133 / 132, blocks=133)
    assert seconds(tail, target) > 1.9 * seconds(full, target)


def test_a_single_block_uses_a_small_part_of_the_device():
    target = Target.parse("sm_90a")
    alone, spread = (Work(1e8, 0, 1e9, blocks=blocks) for blocks in (1, 132))
    assert seconds(alone, target) > 30 * seconds(spread, target)


def test_launches_are_paid_each():
    target = Target.parse("sm_90a")
    one, three = (seconds(Work(0, 0, 0, launches=n), target) for n in (1, 3))
    assert three - one == pytest.approx(2 * target.measured.launch)


def test_what_does_not_fit_takes_forever_and_nonsense_is_refused():
    assert seconds(Work(1, 1, 1, shared_bytes=300 * 1024), Target.parse("sm_90a")) == inf
    with pytest.raises(BadArgument):
        Work(-1, 0, 0)


def test_waits_one_after_the_other_add_up():
    target = Target.parse("sm_90a")
    work = Work(1e5, 1e5, 1e6, blocks=8, latencies=40)
    assert seconds(work, target) - seconds(replace(work, latencies=20), target) == pytest.approx(
        20 * target.measured.memory_latency
    )
    assert seconds(work, TARGETS[-1]) == seconds(replace(work, latencies=0), TARGETS[-1])


def test_what_comes_after_the_last_operand_has_nothing_beside_it():
    target = Target.parse("sm_90a")
    work = Work(1e8, 1e5, 1e9, blocks=132)
    assert seconds(replace(work, epilogue=1e-6), target) - seconds(work, target) == pytest.approx(
        1e-6
    )


def test_work_of_dynamic_sizes_says_how_to_count_them():
    with pytest.raises(BadArgument) as caught:
        Work(4 * Var("n", i32), 0, 0)
    assert "estimated(size)" in caught.value.help
