"""What is computed again, and what is stored."""

from hidet import ops
from hidet.fusion import Group, partition
from hidet.fusion.repeating import (
    nbytes,
    read_by_windows,
    repeatable,
    summed_again,
    weight,
)
from hidet.graph import symbol, trace_from
from hidet.types import i32


def chain(result):
    return Group(trace_from([result]).nodes)


def test_moving_is_repeated_whoever_reads_it():
    x = symbol((64, 32))
    moved = chain(ops.permute(ops.slice(x, 0, 3, 40), (1, 0)))
    assert repeatable(moved, 9, straight=False)
    assert weight(moved.nodes) == 0


def test_cheap_arithmetic_is_repeated_where_it_saves_bytes():
    small, large = symbol((64, 32)), symbol((4096, 4096))
    many = [symbol((4096, 4096)) for _ in range(4)]
    assert repeatable(chain(small + 1.0), 2, straight=True)
    assert not repeatable(chain(small + 1.0), 2, straight=False)
    assert repeatable(chain(ops.relu(large)), 3, straight=True)
    summed = chain(many[0] + many[1] + many[2] + many[3])
    assert not repeatable(summed, 3, straight=True)
    assert weight(summed.nodes) == 3


def test_dear_functions_are_stored():
    assert not repeatable(chain(ops.exp(symbol((4,)))), 2, straight=True)


def resized(device):
    """An image made smaller along both axes, each new element of six in either."""
    x = symbol((1, 16, 16), device=device)
    smaller = ops.resize(x, sizes=(6, 7), axes=(1, 2), mode="linear", antialias=True)
    names = [each.name for each in partition(trace_from([smaller], [x]), lambda op: False)]
    return [name for name in names if "resample" in name]


def test_a_cpu_sums_up_once_what_several_sums_read():
    assert resized("cpu") == ["resample", "resample"]
    assert resized("cuda") == ["resample_resample"]


def test_few_elements_are_summed_up_again():
    x = symbol((1, 16, 16))
    wider = ops.resize(x, sizes=(23, 21), axes=(1, 2), mode="linear")
    first = chain(wider)
    again = ops.resize(wider, sizes=(29, 31), axes=(1, 2), mode="linear")
    assert not summed_again(first, wider, trace_from([again]).nodes[-1])
    assert not summed_again(first, wider, trace_from([ops.relu(wider)]).nodes[-1])


def moved_to(dtype, window, device="cpu"):
    """Whether a convolution reads from memory what was moved ahead of it."""
    x = symbol((2, 9, 9, 4), dtype, device=device)
    weight = symbol((8, 4, window, window), dtype, device=device)
    made = ops.conv(ops.permute(x, (0, 3, 1, 2)), weight, dtype=i32 if dtype == "int8" else None)
    node = trace_from([made]).nodes[-1]
    return bool(read_by_windows(node.inputs[0], node))


def test_a_cpu_moves_once_what_windows_of_integers_read():
    assert moved_to("int8", 3)
    assert not moved_to("int8", 1)
    assert not moved_to("float32", 3)
    assert not moved_to("int8", 3, "cuda")


def test_bytes():
    assert nbytes(symbol((3, 5), "float16")) == 30
