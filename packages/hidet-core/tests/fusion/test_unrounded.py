"""What never leaves a kernel is not rounded to float16 or bfloat16, unless that decides."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing.grouping import grouped
from hidet.build.compiled import build_graph
from hidet.graph import asarray, symbol, trace_from
from hidet.optimize import split
from hidet.options import options
from hidet.target import Target
from hidet.types import bf16, f16, f32, i32

DEVICES = ["cpu", "sim", pytest.param("cuda", marks=pytest.mark.gpu)]
NARROW = pytest.mark.parametrize("of", [f16, bf16], ids=str)
everywhere = pytest.mark.parametrize("device", DEVICES)


def run(make, arrays, device, **settings):
    """The results of a function of tensors, compiled and run; floats in float64."""
    place = "cuda" if device == "cuda" else "cpu"
    inputs = [symbol(each.shape, str(each.dtype), place) for each in arrays]
    made = make(*inputs)
    graph = trace_from(made if isinstance(made, list) else [made], inputs)
    with options(target="sim" if device == "sim" else "", progress=False, **settings):
        results = build_graph(graph).run([asarray(each, device=place) for each in arrays])
    found = [each.cpu().numpy() for each in results]
    pairs = zip(found, results, strict=True)
    return [array.astype(np.float64) if t.dtype.is_float else array for array, t in pairs]


def near_and_far(of, *shape, seed=0):
    """Numbers of which the sum needs more bits than the type has: large ones, and small ones."""
    random = np.random.default_rng(seed)
    most = 2048 if of is f16 else 256
    large = random.integers(most // 2, most, shape).astype(of.numpy)
    return large, random.uniform(0.5, 1, shape).astype(of.numpy)


def wide(array):
    return array.astype(np.float64)


@everywhere
@NARROW
@pytest.mark.parametrize("shape", [(1,), (37,), (5, 129)])
def test_what_a_sum_loses_it_loses_once(shape, of, device):
    a, b = near_and_far(of, *shape)
    (found,) = run(lambda x, y: (x + y) - x, (a, b), device)
    assert np.array_equal(found, wide(b))
    (rounded,) = run(lambda x, y: (x + y) - x, (a, b), device, round_each=True)
    (alone,) = run(lambda x, y: (x + y) - x, (a, b), device, fusion=False)
    eager = wide((wide(a) + wide(b)).astype(of.numpy)) - wide(a)
    assert np.array_equal(rounded, eager)
    assert np.array_equal(alone, eager)
    assert np.abs(rounded - wide(b)).max() > 0.1


@everywhere
def test_where_it_lies_makes_no_difference(device):
    a, b = near_and_far(f16, 3, 14)

    def moved(x, y):
        total = ops.permute(ops.reshape(x + y, (6, 7)), (1, 0))
        return total - ops.permute(ops.reshape(x, (6, 7)), (1, 0))

    (found,) = run(moved, (a, b), device)
    assert np.array_equal(found, wide(b).reshape(6, 7).T)


@everywhere
@NARROW
def test_what_the_model_casts_is_rounded(of, device):
    a, b = near_and_far(of, 37)
    rounded = wide((wide(a) + wide(b)).astype(of.numpy))

    def there_and_back(x, y):
        total = ops.cast(x, f32) + ops.cast(y, f32)
        return ops.cast(ops.cast(total, of), f32) - ops.cast(x, f32)

    (found,) = run(there_and_back, (a, b), device)
    assert np.array_equal(found, rounded - wide(a))
    assert not np.array_equal(found, wide(b))
    (found,) = run(lambda x, y: ops.cast(x + y, f32), (a, b), device)
    assert np.array_equal(found, wide(a) + wide(b)), "to more bits nothing is rounded"


def halves(seed):
    """Numbers whose products are close to halves and whole numbers, on either side once rounded."""
    random = np.random.default_rng(seed)
    a = random.uniform(8, 30, (7, 129)).astype(np.float16)
    near = np.round(wide(a) * random.uniform(2, 8, a.shape) * 2) / 2
    return a, (near / wide(a)).astype(np.float16)


DECISIONS = {
    "floor": lambda p, c: ops.floor(p),
    "ceil": lambda p, c: ops.ceil(p),
    "trunc": lambda p, c: ops.trunc(p),
    "round": lambda p, c: ops.round(p),
    "whole": lambda p, c: ops.cast(p, i32),
    "over": lambda p, c: p > c,
    "same": lambda p, c: ops.equal(p, c),
    "wider": lambda p, c: ops.less_equal(p, ops.cast(c, f32)),
    "where": lambda p, c: ops.where(p > c, p * 0.0 + 1.0, p * 0.0),
    "rest": lambda p, c: ops.remainder(p, 1.0),
    "fmod": lambda p, c: ops.fmod(p, 1.0),
    "quotient": lambda p, c: ops.floor_divide(p, 0.5),
    "jump": lambda p, c: ops.where(ops.threshold(p, 16.0, 0.0) > c, c, c * 0.0),
}


@pytest.mark.parametrize("name", DECISIONS)
@everywhere
def test_what_decides_is_rounded(name, device):
    a, b = halves(3)
    c = (np.round(wide(a) * wide(b) * 2) / 2).astype(np.float16)

    def make(x, y, z):
        return DECISIONS[name](x * y, z)

    (found,) = run(make, (a, b, c), device)
    (eager,) = run(make, (a, b, c), device, round_each=True)
    assert np.array_equal(found, eager)
    exact = [each.astype(np.float32) for each in (a, b, c)]
    (differs,) = run(make, exact, device)
    assert not np.array_equal(found, differs), "the rounding decides something here"


@everywhere
def test_too_large_is_infinite_where_that_is_asked(device):
    a = np.array([100, 300, 1000], np.float16)
    (found,) = run(lambda x: ops.isinf(x * x), (a,), device)
    assert found.tolist() == [False, True, True]
    (found,) = run(lambda x: x * x / x, (a,), device)
    assert found.tolist() == [100, 300, 1000], "finite, as it was never stored"
    (found,) = run(lambda x: x * x / x, (a,), device, round_each=True)
    assert found.tolist() == [100, np.inf, np.inf]


@everywhere
@pytest.mark.parametrize("stored", ["", "x", "top", "x top"])
def test_the_greatest_is_one_of_them_and_none_is_greater(stored, device):
    """A tensor has the same elements wherever it is read, in one kernel or in several."""
    a, b = halves(5)

    def make(p, q):
        x = p * q
        top = ops.max(x, (1,), keepdims=True)
        kept = [e for name, e in (("x", x), ("top", top)) if name in stored.split()]
        return [ops.equal(x, top), ops.sqrt(top - x), ops.argmax(x, 1), *kept]

    same, root, place = run(make, (a, b), device)[:3]
    assert same.any(axis=1).all()
    assert not np.isnan(root).any()
    assert (root[same] == 0).all()
    assert same[np.arange(7), place].all()


def test_what_several_kernels_compute_is_rounded_in_each():
    x, y = symbol((64, 128), "float16"), symbol((64, 128), "float16")
    w = symbol((128, 64), "float16")
    total = x + y
    graph = trace_from([ops.sum(total * 2.0, (0,)), ops.sum(total, (1,)), ops.matmul(x, w)])
    groups = grouped(split(graph).main, Target.parse("sm_90a"))
    (own,) = [n for g in groups for n in g.nodes[:1] if n.outputs[0] is total][:1]
    holders = [group for group in groups if own in group.nodes]
    assert len(holders) == 2
    assert all(set(each.shared) == {total} for each in holders)


@everywhere
@NARROW
def test_sums_go_unrounded_into_what_follows_a_product(of, device):
    """Tiles of whole sums by `wgmma` go through shared memory rounded: here are none of these."""
    random = np.random.default_rng(1)
    a, b = (random.uniform(0.5, 1, s).astype(of.numpy) for s in ((33, 39), (39, 24)))
    exact = wide(a) @ wide(b)
    c = exact.astype(of.numpy)
    (found,) = run(lambda x, w, z: ops.matmul(x, w) - z, (a, b, c), device)
    assert np.allclose(found, exact - wide(c), rtol=2**-6, atol=1e-4)
    (rounded,) = run(lambda x, w, z: ops.matmul(x, w) - z, (a, b, c), device, round_each=True)
    assert not rounded.any()


@everywhere
def test_so_do_pairs_of_columns(device):
    random = np.random.default_rng(2)
    a, b = (random.uniform(0.5, 1, s).astype(np.float16) for s in ((33, 39), (39, 24)))
    b[:, 1::2] = b[:, ::2]
    b[0, 1::2] *= np.float16(1.01)

    def make(x, w):
        y = ops.matmul(x, w)
        return ops.slice(y, -1, 0, None, 2) - ops.slice(y, -1, 1, None, 2)

    exact = wide(a) @ wide(b)
    (found,) = run(make, (a, b), device)
    assert np.allclose(found, exact[:, ::2] - exact[:, 1::2], rtol=2**-6, atol=1e-5)


@everywhere
def test_and_into_what_follows_a_convolution(device):
    random = np.random.default_rng(3)
    a = random.uniform(0.5, 1, (1, 8, 7, 9)).astype(np.float16)
    w = random.uniform(0.5, 1, (16, 8, 3, 3)).astype(np.float16)
    (exact,) = run(
        lambda x, k: ops.conv2d(x, k, padding=1), [e.astype(np.float64) for e in (a, w)], "cpu"
    )
    c = exact.astype(np.float16)
    (found,) = run(lambda x, k, z: ops.conv2d(x, k, padding=1) - z, (a, w, c), device)
    assert np.allclose(found, exact - wide(c), rtol=2**-6, atol=1e-4)


@everywhere
@NARROW
@pytest.mark.parametrize("columns", [7, 129])
def test_reductions_read_and_give_what_is_not_rounded(columns, of, device):
    a, b = near_and_far(of, 5, columns)
    total = wide(b).sum(1)
    c = total.astype(of.numpy)

    def make(x, y, z):
        rest = (x + y) - x
        return [ops.sum(rest, (1,)), ops.softmax(rest), ops.sum(y, (1,)) - z]

    sums, weights, differences = run(make, (a, b, c), device)
    step = 2.0 ** -(10 if of is f16 else 7)
    assert np.allclose(sums, total, rtol=step)
    powers = np.exp(wide(b))
    assert np.allclose(weights, powers / powers.sum(1, keepdims=True), rtol=2 * step)
    assert np.allclose(differences, total - wide(c), rtol=step, atol=1e-4)
    assert np.abs(differences).max() > 1e-3


@everywhere
def test_functions_of_what_is_not_rounded_are_right_to_more_bits_than_it_would_be(device):
    x = np.random.default_rng(4).uniform(-3, 3, (5, 129)).astype(np.float16)
    y = np.tanh(wide(x)).astype(np.float16)
    (found,) = run(lambda p, q: (ops.tanh(p) - q) * 1024.0, (x, y), device)
    assert np.abs(found / 1024 - (np.tanh(wide(x)) - wide(y))).max() < 2.0**-15


@everywhere
@NARROW
def test_what_is_cast_to_float64_is_rounded_before(of, device):
    a, b = near_and_far(of, 37)
    (found,) = run(lambda x, y: ops.cast(x + y, "float64"), (a, b), device)
    assert np.array_equal(found, wide((wide(a) + wide(b)).astype(of.numpy)))
