"""Narrow types through operators that move elements, compiled for the CPU and simulated."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.graph import trace_from
from hidet.options import options
from hidet.types import f32, i64
from hidet.types.narrow import NARROW, converted

TYPES = sorted(NARROW, key=str)


def codes(of, shape):
    """Every code of a type, in turn; those that are one more than others are left out."""
    count = int(np.prod(shape))
    return np.resize(np.arange(2**of.bits, dtype=np.uint8), count).view(of.numpy).reshape(shape)


def moved(x, y, index):
    """Elements of x and y in other places, each by an operator of its own, joined by nobody."""
    return {
        "reshape": ops.reshape(x, (3, 14)),
        "permute": ops.permute(x, (1, 0)),
        "concat": ops.concat([x, y], 1),
        "slice": ops.slice(x, 1, 1, 6, 2),
        "index_select": ops.index_select(x, 0, index),
        "gather": ops.gather(x, 1, ops.reshape(index, (1, 5))),
        "pad": ops.pad(x, ((1, 0), (0, 2)), value=1),
        "where": ops.where(ops.equal(x, y), x, y),
        "expand": ops.expand(ops.reshape(x, (6, 1, 7)), (6, 3, 7)),
        "flip": ops.flip(x, (1,)),
        "roll": ops.roll(x, 2, 1),
        "tile": ops.tile(x, (2, 1)),
        "scatter": ops.scatter(x, 0, ops.reshape(index, (1, 5)), ops.slice(y, 0, 0, 1)),
    }


def expected(name, x, y, index):
    at, one = np.arange(5), np.ones((), x.dtype)
    written = x.copy()
    written[index[:5], at] = y[0, :5]
    padded = np.full((7, 9), one)
    padded[1:, :7] = x
    return {
        "reshape": x.reshape(3, 14), "permute": x.T, "concat": np.concatenate([x, y], 1),
        "slice": x[:, 1:6:2], "index_select": x[index], "gather": x[:1, index], "pad": padded,
        "where": np.where(x == y, x, y), "expand": np.broadcast_to(x[:, None], (6, 3, 7)),
        "flip": x[:, ::-1], "roll": np.roll(x, 2, 1), "tile": np.tile(x, (2, 1)),
        "scatter": written,
    }[name]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("of", TYPES, ids=str)
def test_elements_move_as_they_are(of, target):
    x, y = codes(of, (6, 7)), codes(of, (6, 7))[::-1].copy()
    index = np.array([4, 0, 3, 1, 2])
    a, b, places = hidet.symbol((6, 7), of), hidet.symbol((6, 7), of), hidet.symbol((5,), i64)
    results = moved(a, b, places)
    with options(target="" if target == "cpu" else target):
        compiled = trace_from([*results.values()], [a, b, places]).build()
        found = compiled(*map(hidet.asarray, (x, y, index)))
    for name, one in zip(results, found, strict=True):
        wanted = np.ascontiguousarray(expected(name, x, y, index))
        assert one.dtype is of
        assert (one.numpy().view(np.uint8) == wanted.view(np.uint8)).all(), name


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_constants_in_an_archive_keep_their_codes(of, tmp_path):
    held = codes(of, (5, 9))
    x = hidet.symbol((5, 9), f32)
    y = ops.add(x, ops.cast(hidet.asarray(held), f32))
    trace_from([y, hidet.asarray(held)], [x]).build().save(tmp_path / "model.hidet")
    wide, same = hidet.load(tmp_path / "model.hidet")(np.zeros((5, 9), np.float32))
    np.testing.assert_array_equal(wide.numpy(), converted(held, f32))
    assert (same.numpy().view(np.uint8) == held.view(np.uint8)).all()


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_extremes_ignore_what_a_type_cannot_hold(of):
    """Reductions and pools begin with a number that the type has: not all have infinities."""
    x = codes(of, (3, 2**of.bits))
    x[0] = x[0, 1]
    wide = converted(x, f32)
    found = ops.max(hidet.asarray(x), 1).numpy(), ops.min(hidet.asarray(x), 1).numpy()
    for one, wanted in zip(found, (wide.max(1), wide.min(1)), strict=True):
        np.testing.assert_array_equal(converted(one, f32), wanted)
