"""What data select, at once and in graphs whose sizes only calls tell."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.options import options


def rows(n, seed=0):
    return np.random.default_rng(seed + n).integers(0, 5, (n, 3)).astype(np.float32)


def over_two(x):
    return ops.greater(x, 2.0)


CASES = {
    "compress": (lambda x: ops.compress(x, over_two(x[:, 0]), 0), lambda x: x[x[:, 0] > 2]),
    "compress_all": (
        lambda x: ops.compress(x, over_two(x[:, 0])),
        lambda x: x.ravel()[: len(x)][x[:, 0] > 2],
    ),
    "mask": (lambda x: x[over_two(x)], lambda x: x[x > 2]),
    "mask_of_rows": (lambda x: x[over_two(x[:, 1])] + 1.0, lambda x: x[x[:, 1] > 2] + 1),
    "mask_and_slice": (lambda x: x[1:, :][over_two(x[1:, 1])], lambda x: x[1:][x[1:, 1] > 2]),
    "masked_select": (
        lambda x: ops.masked_select(x, over_two(x[:, :1])),
        lambda x: x[np.broadcast_to(x[:, :1] > 2, x.shape)],
    ),
    "repeat_interleave": (
        lambda x: ops.repeat_interleave(x, ops.cast(x[:, 0], "int64"), 0),
        lambda x: np.repeat(x, x[:, 0].astype(int), 0),
    ),
    "put_where_a_mask_holds": (
        lambda x: ops.index_put(x, [over_two(x)], ops.full((), 9.0)),
        lambda x: np.where(x > 2, 9, x),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_selections_in_graphs_of_any_size(name, target):
    build, meaning = CASES[name]
    x = hidet.symbol(("n", 3), name="x")
    with options(target=target):
        compiled = hidet.trace_from(build(x), x).build()
        for n in (1, 2, 7, 129) if target == "cpu" else (2, 13):
            np.testing.assert_array_equal(compiled(rows(n)).numpy(), meaning(rows(n)))


@pytest.mark.parametrize("name", CASES)
def test_selections_at_once(name):
    build, meaning = CASES[name]
    for n in (1, 11):
        found = build(hidet.asarray(rows(n))).numpy()
        np.testing.assert_array_equal(found, meaning(rows(n)))


def test_nothing_is_selected_of_nothing():
    x = hidet.asarray(rows(4))
    assert ops.compress(x, ops.greater(x[:, 0], 9.0), 1 - 1).shape == (0, 3)
    assert ops.repeat_interleave(x, hidet.asarray(np.zeros(4, np.int64)), 0).shape == (0, 3)
    assert ops.masked_select(hidet.zeros([0]), hidet.zeros([0], dtype="bool")).shape == (0,)


def test_repeats_of_one_count_stay_sizes():
    x = hidet.symbol(("n", 3))
    assert str(ops.repeat_interleave(x, 4, 1).shape) == "(n, 12)"


def test_what_does_not_fit_is_said():
    x = hidet.asarray(rows(4))
    with pytest.raises(DtypeMismatch, match="compress takes a mask of one axis"):
        ops.compress(x, ops.greater(x, 2.0), 0)
    with pytest.raises(DtypeMismatch, match="masked_select takes a mask"):
        ops.masked_select(x, x)
    with pytest.raises(ShapeMismatch, match="a mask of"):
        x[hidet.zeros([5], dtype="bool")]
    with pytest.raises(ShapeMismatch, match="counts are integers along one axis"):
        ops.repeat_interleave(x, x, 0)
