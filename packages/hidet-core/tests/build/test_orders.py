"""Inputs that lie in other orders of axes than rows: read as they lie, in memory and from files."""

import warnings
from itertools import permutations

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.inputs import CopyWarning
from hidet.build.packing import packed
from hidet.build.permuted import Permuted
from hidet.errors import BadArgument, ShapeMismatch

LAST = (0, 2, 3, 1)
"""Channels last, as they lie."""


def values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def lying(array, order):
    """The same values whose axes lie in an order, outermost in memory first."""
    back = np.argsort(order)
    return np.ascontiguousarray(array.transpose(order)).transpose(back)


def reloaded(compiled, folder):
    compiled.save(folder / "graph.hidet")
    return hidet.load(folder / "graph.hidet", compiled.device)


@pytest.fixture
def silent():
    """No input may be copied."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopyWarning)
        yield


@pytest.fixture(scope="module")
def images():
    x = hidet.symbol([2, 3, 5, 4], name="image")
    return hidet.trace_from(ops.sum(ops.relu(x), [1]) + x[:, 0], x)


def expected(x):
    return np.maximum(x, 0).sum(1) + x[:, 0]


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("order", [LAST, (3, 2, 1, 0), (1, 0, 2, 3)])
def test_an_input_in_its_order_is_not_copied(images, order, saved, tmp_path, silent) -> None:
    compiled = images.build(orders={"image": order})
    compiled = reloaded(compiled, tmp_path) if saved else compiled
    x = values(2, 3, 5, 4)
    for given in (x, x + 1):
        found = compiled(lying(given, order)).numpy()
        np.testing.assert_allclose(found, expected(given.astype(float)), rtol=1e-5, atol=1e-6)
    assert compiled.copied == 0
    assert compiled.plan.buffers[compiled.plan.inputs[0]].shape == (2, 3, 5, 4)


def test_others_are_copied_and_each_input_says_it_once(tmp_path) -> None:
    x, y = hidet.symbol([6, 4], name="x"), hidet.symbol([6, 4], name="y")
    compiled = reloaded(hidet.trace_from(x - y, [x, y]).build(orders={"x": (1, 0)}), tmp_path)
    a, b = values(6, 4), values(6, 4, seed=1)
    in_order, wide = lying(a, (1, 0)), np.repeat(a, 2, axis=1)[:, ::2]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for first, second in ((in_order, b), (a, b), (wide, b), (in_order, b.T.copy().T)):
            np.testing.assert_array_equal(compiled(first, second).numpy(), a - b)
    assert compiled.copied == 3
    first, second = (str(each.message) for each in said)
    assert "input x of strides (4, 1), which the graph reads in rows of its axes (1, 0)" in first
    assert "numpy.ascontiguousarray(x.transpose(1, 0)).transpose(1, 0)" in first
    assert "a graph built for the order (0, 1) takes it as it lies" in first
    assert "input y of strides (1, 6), which the graph reads in rows:" in second
    assert "a graph built for the order (1, 0) takes it as it lies" in second
    assert [each.filename for each in said] == [__file__] * 2


def test_what_has_gaps_fits_no_order() -> None:
    x = hidet.symbol([4, 3], name="x")
    compiled = hidet.trace_from(x * 2, x).build(orders={"x": (1, 0)})
    wide = values(8, 3)
    with pytest.warns(CopyWarning, match=r"of strides \(6, 1\)") as said:
        np.testing.assert_array_equal(compiled(wide[::2]).numpy(), wide[::2] * 2)
    assert "takes it as it lies" not in str(said[0].message)


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_sizes_of_calls_are_read_from_the_axes_of_callers(order, silent, tmp_path) -> None:
    x = hidet.symbol(["n", 3, "m"], name="x")
    graph = hidet.trace_from(ops.softmax(x, 0) + x.shape[2], x)
    graph.limits = {"n": (0, 9)}
    compiled = reloaded(graph.build(orders={"x": order}), tmp_path)
    for n, m in ((2, 5), (7, 1), (1, 6), (4, 0)):
        given = values(n, 3, m)
        e = np.exp(given.astype(float))
        found = compiled(lying(given, order)).numpy()
        assert found.shape == given.shape
        np.testing.assert_allclose(found, e / e.sum(0) + m, rtol=1e-5)
    with pytest.raises(ShapeMismatch, match=r"float32\[10, 3, 2\].*n is at most 9"):
        compiled(values(10, 3, 2))
    with pytest.raises(ShapeMismatch, match=r"float32\[2, 4, 2\]; the graph takes .*\[n, 3, m\]"):
        compiled(values(2, 4, 2))
    for wrong in (values(3, 2), values(2, 3, 2, 1), np.float32(1)):
        with pytest.raises(ShapeMismatch):
            compiled(wrong)
    with pytest.raises(BadArgument, match="is a list, no tensor"):
        compiled([1.0])


def test_empty_arrays_and_axes_of_one_lie_in_any_order(silent) -> None:
    x = hidet.symbol(["n", 3, 1], name="x")
    compiled = hidet.trace_from(x * 2, x).build(orders={"x": (1, 2, 0)})
    for given in (values(0, 3, 1), values(1, 3, 1), values(3, 4, 1).transpose(1, 0, 2)[:, :3]):
        if given.shape[0] < 2:
            np.testing.assert_array_equal(compiled(given).numpy(), given * 2)
    assert compiled.copied == 0


def test_bodies_and_plans_that_follow_read_inputs_as_they_lie(silent, tmp_path) -> None:
    x, go = hidet.symbol(["n", 3], name="x"), hidet.symbol((), "bool", name="go")
    chosen = ops.if_(go, lambda: ops.sum(x, [0]), lambda: ops.max(x, [0]))
    graph = hidet.trace_from([chosen, ops.nonzero(x > 0)], [x, go])
    compiled = reloaded(graph.build(orders={"x": (1, 0)}), tmp_path)
    for rows in (4, 1, 7):
        given = lying(values(rows, 3, seed=rows), (1, 0))
        for flag in (True, False):
            found, places = compiled(given, np.array(flag))
            close(found, given.sum(0) if flag else given.max(0))
            np.testing.assert_array_equal(places.numpy(), np.argwhere(given > 0))
    assert compiled.copied == 0


def test_inputs_in_several_orders_and_results_in_rows(silent, tmp_path) -> None:
    x, w, b = (hidet.symbol(s, name=n) for s, n in (([8, 5], "x"), ([5, 6], "w"), ([6], "b")))
    graph = hidet.trace_from([ops.matmul(x, w) + b, x, ops.permute(w, (1, 0))], [x, w, b])
    compiled = reloaded(graph.build(orders={"x": (1, 0), "w": (1, 0)}), tmp_path)
    a, c, d = values(8, 5), values(5, 6, seed=1), values(6, seed=2)
    found = compiled(b=d, x=lying(a, (1, 0)), w=lying(c, (1, 0)))
    for each, right in zip(found, (a.astype(float) @ c + d, a, c.T), strict=True):
        np.testing.assert_allclose(each.numpy(), right, rtol=1e-5, atol=1e-6)
        assert each.numpy().flags.c_contiguous


def test_arrays_of_all_libraries_are_put_in_order(images) -> None:
    torch = pytest.importorskip("torch")
    compiled = images.build(orders={"image": LAST})
    x = values(2, 3, 5, 4)
    seen = torch.from_numpy(x).to(memory_format=torch.channels_last)
    ours = Permuted(hidet.asarray(np.ascontiguousarray(x.transpose(LAST))), (0, 3, 1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopyWarning)
        for given in (lying(x, LAST), seen, Exported(seen), ours):
            close(compiled(given), expected(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CopyWarning)
        for given in (x, torch.from_numpy(x), Exported(torch.from_numpy(x)), hidet.asarray(x)):
            close(compiled(given), expected(x))
    assert compiled.copied == 4


def close(found, right):
    np.testing.assert_allclose(found.numpy(), right, rtol=1e-5, atol=1e-6)


class Exported:
    """An array that tells no more than DLPack does."""

    def __init__(self, array):
        self.array, self.shape = array, tuple(array.shape)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_a_permuted_tensor_tells_how_it_lies() -> None:
    x = hidet.asarray(values(2, 1, 3))
    seen = Permuted(x, (2, 0, 1))
    assert (seen.shape, seen.is_packed) == ((3, 2, 1), False)
    assert seen.transpose((1, 2, 0)) is x
    np.testing.assert_array_equal(packed(seen, int).numpy(), x.numpy().transpose(2, 0, 1))
    assert Permuted(x, (1, 0, 2)).is_packed


def test_an_order_names_each_axis_of_an_input_once(images) -> None:
    for order in ((0, 1, 2), (0, 1, 1, 3), (1, 2, 3, 4)):
        with pytest.raises(BadArgument, match="cannot lie in the order"):
            images.build(orders={"image": order})
    with pytest.raises(BadArgument, match="an order for an input 'picture'"):
        images.build(orders={"picture": LAST})


def test_an_input_without_a_name_has_its_number() -> None:
    x = hidet.symbol([2, 3])
    compiled = hidet.trace_from(x * 2, x).build(orders={"input0": (1, 0)})
    given = values(3, 2)
    np.testing.assert_array_equal(compiled(given.T).numpy(), given.T * 2)
    assert compiled.copied == 0


def test_simulated_kernels_read_inputs_as_they_lie(silent, tmp_path) -> None:
    x = hidet.symbol([6, 40], name="x")
    graph = hidet.trace_from(ops.softmax(x, -1), x)
    built = graph.build("sim", "cpu", orders={"x": (1, 0)})
    built.save(tmp_path / "graph.hidet")
    given = values(40, 6).T
    e = np.exp(given.astype(float))
    loaded = hidet.load(tmp_path / "graph.hidet", "cpu")
    np.testing.assert_allclose(loaded(given).numpy(), e / e.sum(-1, keepdims=True), rtol=1e-5)
    assert loaded.copied == 0
