"""Parts of tensors as views by strides, as numpy sees them; those that no strides describe."""

import numpy as np
import pytest

from hidet import ops
from hidet.compute.sizes import same
from hidet.compute.strides import StridedView, in_rows, seen_through
from hidet.fusion.group import Group
from hidet.fusion.parts import obstacle, part_of
from hidet.graph import symbol, trace_from
from hidet.ir.expr import Var
from hidet.types import i32

B, S = Var("b", i32), Var("s", i32)


def view_of(made, shape, as_shape=None):
    """What a view in rows (of another shape) sees of a tensor that is made of a symbol's."""
    x = symbol(shape, "float16")
    y = made(x)
    part = part_of(Group(trace_from([y], [x]).nodes), y)
    assert part is not None
    return seen_through(in_rows(as_shape or y.shape), y.shape, x.shape, part.read)


def heads(x):
    return ops.transpose(ops.reshape(x[:, :, 16:48], (x.shape[0], x.shape[1], 4, 8)), 1, 2)


PARTS = [
    ((2, 7, 48), heads, lambda x: x[:, :, 16:48].reshape(2, 7, 4, 8).swapaxes(1, 2)),
    ((3, 5, 8), lambda x: x[1, 2:5], lambda x: x[1, 2:5]),
    ((4, 6), lambda x: x[::2, 3:], lambda x: x[::2, 3:]),
    ((4, 6), lambda x: ops.transpose(x)[1:], lambda x: x.T[1:]),
    ((5, 6), lambda x: x[::-1], lambda x: x[::-1]),
    ((2, 1, 6), lambda x: ops.expand(x, (2, 3, 6)), lambda x: np.broadcast_to(x, (2, 3, 6))),
    (
        (2, 3, 4, 6),
        lambda x: ops.reshape(x, (6, 24))[1:, 6:18],
        lambda x: x.reshape(6, 24)[1:, 6:18],
    ),
]


@pytest.mark.parametrize(("shape", "made", "expected"), PARTS)
def test_a_part_has_the_strides_that_numpy_gives_it(shape, made, expected):
    numbers = np.arange(np.prod(shape)).reshape(shape)
    part = expected(numbers)
    strides = tuple(each // numbers.itemsize for each in part.strides)
    assert view_of(made, shape) == StridedView(part.shape, strides, int(part.flat[0]))


def test_strides_of_sizes_that_only_calls_tell():
    found = view_of(heads, (B, S, 64))
    assert found.offset == 16
    assert all(map(same, found.strides, (S * 64, 8, 64, 1)))
    assert obstacle(found, 2) == ""


def test_axes_that_a_map_sees_as_one_are_one_in_the_part_too():
    def columns(x):
        return x[:, :, 8:24]

    assert view_of(columns, (2, 5, 32), (10, 16)) == StridedView((10, 16), (32, 1), 8)
    assert view_of(columns, (2, 5, 32), (2, 80)) is None


@pytest.mark.parametrize(
    "made", [lambda x: ops.roll(x, 2, 0), lambda x: ops.reshape(x[:, 2:], (-1,))]
)
def test_what_no_strides_describe(made):
    assert view_of(made, (6, 10)) is None


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (StridedView((3, 64), (72, 1), 8), ""),
        (StridedView((1, 64), (0, 1), 8), ""),
        (StridedView((S, 64), (S * 8, 1), S * 16), ""),
        (StridedView((3, 64), (1, 3)), "its rows are not neighbours in memory"),
        (StridedView((3, 64), (0, 1)), "its elements are repeated along an axis"),
        (StridedView((3, 64), (68, 1)), "its rows do not lie multiples of 16 bytes apart"),
        (StridedView((3, 64), (-64, 1), 128), "its rows do not lie multiples of 16 bytes apart"),
        (StridedView((3, 64), (S, 1)), "its rows do not lie multiples of 16 bytes apart"),
        (StridedView((3, 64), (64, 1), 4), "it does not begin at a multiple of 16 bytes"),
        (StridedView((3, 64), (64, 1), 1 << 31), "it begins farther in than positions count"),
    ],
)
def test_what_keeps_a_view_from_a_tensor_map(view, why):
    assert obstacle(view, 2) == why
