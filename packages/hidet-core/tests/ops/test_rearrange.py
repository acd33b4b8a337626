"""Blocks as channels and back, and sequences reversed."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import ShapeMismatch
from hidet.graph import symbol
from hidet.testing.defined import run


def test_blocks_become_channels_as_in_the_specification():
    x = np.arange(2 * 8 * 2 * 3, dtype=np.float32).reshape(2, 8, 2, 3)
    inside = run(lambda v: ops.depth_to_space(v, 2), x)
    outside = run(lambda v: ops.depth_to_space(v, 2, channels_outside=True), x)
    for n, c, h, w in np.ndindex(2, 2, 4, 6):
        place = (h % 2) * 2 + w % 2
        assert inside[n, c, h, w] == x[n, place * 2 + c, h // 2, w // 2]
        assert outside[n, c, h, w] == x[n, c * 4 + place, h // 2, w // 2]


@pytest.mark.parametrize("outside", [False, True])
def test_one_undoes_the_other(outside):
    x = np.random.default_rng(0).normal(size=(1, 18, 5, 7)).astype(np.float32)

    def there_and_back(v):
        wide = ops.depth_to_space(v, 3, channels_outside=outside)
        return ops.space_to_depth(wide, 3, channels_outside=outside)

    np.testing.assert_array_equal(run(there_and_back, x), x)


def test_blocks_that_do_not_fit():
    with pytest.raises(ShapeMismatch, match="6 channels do not make blocks of 2"):
        ops.depth_to_space(symbol([1, 6, 2, 2]), 2)
    with pytest.raises(ShapeMismatch, match="an axis of 5"):
        ops.space_to_depth(symbol([1, 3, 4, 5]), 2)
    with pytest.raises(ShapeMismatch, match="3 dimensions"):
        ops.space_to_depth(symbol([3, 4, 5]), 2)


def test_sequences_are_reversed_up_to_their_lengths():
    x = np.arange(24, dtype=np.int64).reshape(4, 3, 2)
    lengths = np.int64([1, 3, 0])
    found = run(ops.reverse_sequence, x, lengths)
    swapped = run(
        lambda v, n: ops.reverse_sequence(v, n, batch_axis=0, time_axis=1),
        x.transpose(1, 0, 2).copy(), lengths,
    )  # fmt: skip
    for b, size in enumerate(lengths):
        wanted = np.concatenate([x[:size, b][::-1], x[size:, b]])
        np.testing.assert_array_equal(found[:, b], wanted)
        np.testing.assert_array_equal(swapped[b], wanted)
