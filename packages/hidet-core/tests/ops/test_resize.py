"""Resizing whole tensors: against formulas written out, and through the compiler."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument, NotYet
from hidet.graph import evaluate, from_numpy, symbol, trace_from
from hidet.ops.resampling.resize_taps import ResizeTaps
from hidet.types import f64


def computed(x, **how):
    """The result as the graph means it, and as this machine computes it."""
    graph_input = symbol(x.shape, x.dtype.name)
    graph = trace_from(ops.resize(graph_input, **how), [graph_input])
    (meant,) = evaluate(graph, x)
    found = graph(from_numpy(x))
    np.testing.assert_allclose(found.numpy(), meant, rtol=1e-6, atol=1e-6)
    return found.numpy()


IMAGE = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)


def test_nearest_up():
    x = IMAGE[:, :, :2, :2]
    found = computed(x, scales=[1, 1, 2, 3], rounding="round_prefer_floor")
    wanted = [[1, 1, 1, 2, 2, 2]] * 2 + [[5, 5, 5, 6, 6, 6]] * 2
    np.testing.assert_array_equal(found[0, 0], wanted)


@pytest.mark.parametrize("shape", [(7, 5), (1, 2), (3, 9)])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric"])
def test_a_linear_function_stays_one_inside(shape, coordinates):
    rows, columns = np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij")
    x = (2 * rows - 3 * columns).astype(np.float32)
    found = computed(x, sizes=shape, mode="linear", coordinates=coordinates)

    def place(count):
        i = np.arange(count)
        where = {
            "half_pixel": (i + 0.5) * 4 / count - 0.5,
            "align_corners": i * 3 / max(count - 1, 1),
            "asymmetric": i * 4 / count,
        }[coordinates]
        return np.clip(where, 0, 3)

    wanted = 2 * place(shape[0])[:, None] - 3 * place(shape[1])[None]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 129])
@pytest.mark.parametrize("factor", [2, 3, 5])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
def test_a_whole_factor_reads_what_the_tables_say(coordinates, factor, n):
    ways = [("nearest", each) for each in ("floor", "ceil", "round_prefer_floor")]
    for mode, rounding in [*ways, ("nearest", "round_prefer_ceil"), ("linear", ""), ("cubic", "")]:
        how = {"mode": mode, "coordinates": coordinates, "rounding": rounding or "floor"}
        x = np.random.default_rng(n).normal(size=(3, n)).astype(np.float32)
        found = computed(x, scales=[factor], axes=[1], **how)
        more = {"coefficient": -0.75, "antialias": False, "exclude_outside": False}
        tables = ResizeTaps(n, factor * n, None, **how, **more, roi=(0.0, 1.0), dtype=f64)
        index, weights = (tables.reference(), 1.0) if mode == "nearest" else tables.reference()
        wanted = (x.astype(np.float64)[:, index.astype(int)] * weights).sum(-1)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)


def test_enlarged_rows_and_columns_of_open_sizes_are_one_kernel():
    x = symbol(["n", "h", "w", 3])
    graph = trace_from(ops.resize(x, scales=[2, 2], axes=[1, 2], mode="linear"), [x])
    assert [node.op.name for node in graph.nodes] == ["enlarge"]
    for size in (1, 7):
        value = np.random.default_rng(size).normal(size=(2, size, 5, 3)).astype(np.float32)
        wanted = computed(value, scales=[2, 2], axes=[1, 2], mode="linear")
        np.testing.assert_allclose(graph(from_numpy(value)).numpy(), wanted, rtol=1e-6, atol=1e-6)


def test_cubic_of_three_axes_goes_axis_by_axis():
    x = np.random.default_rng(0).normal(size=(5, 4, 3)).astype(np.float32)
    found = computed(x, sizes=[7, 7, 2], mode="cubic")
    wanted = x
    for axis, size in enumerate((7, 7, 2)):
        wanted = computed(wanted, sizes=[size], axes=[axis], mode="cubic")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_shrinking_with_antialias_keeps_the_mean():
    x = np.random.default_rng(0).normal(size=(1, 12)).astype(np.float32)
    found = computed(x, sizes=[3], axes=[1], mode="linear", antialias=True, exclude_outside=True)
    assert found.shape == (1, 3)
    constant = computed(
        np.ones((1, 12), np.float32), sizes=[5], axes=[1], mode="cubic", antialias=True
    )
    np.testing.assert_allclose(constant, np.ones((1, 5)), rtol=1e-6)


def test_bytes_are_rounded_and_held():
    x = np.array([[0, 255, 0, 255]], np.uint8)
    found = computed(x, sizes=[8], axes=[1], mode="cubic")
    assert found.dtype == np.uint8
    assert found.min() == 0
    assert found.max() == 255


def test_a_crop_and_what_is_outside():
    roi = [0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7]
    how = {"coordinates": "tf_crop_and_resize", "fill": 10.0, "mode": "linear"}
    found = computed(IMAGE, sizes=[1, 1, 3, 3], roi=roi, **how)
    wanted = [[7.6000004, 10, 10], [12.400001, 10, 10], [10, 10, 10]]
    np.testing.assert_allclose(found[0, 0], wanted, rtol=1e-6)


def test_one_scale_for_all_axes():
    x = np.zeros((3, 4), np.float32)
    assert computed(x, sizes=[7, 8], aspect_ratio="not_larger").shape == (6, 8)
    assert computed(x, sizes=[7, 8], aspect_ratio="not_smaller").shape == (7, 9)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_sizes_that_only_a_call_tells(mode):
    x = symbol(["n", 3, "h", 5])
    h = x.shape[2]
    graph = trace_from(ops.resize(x, scales=[1, 1, 1.5, 2], mode=mode), [x])
    assert str(graph.outputs[0].shape[2]) == str(tidy(h * 3 // 2))
    for size in (1, 7):
        value = np.random.default_rng(size).normal(size=(2, 3, size, 5)).astype(np.float32)
        found = graph(from_numpy(value)).numpy()
        wanted = computed(value, scales=[1, 1, 1.5, 2], mode=mode)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_what_it_does_not_take():
    x = hidet.zeros([2, 3])
    with pytest.raises(BadArgument, match="either sizes or scales"):
        ops.resize(x)
    with pytest.raises(BadArgument, match="1 sizes or scales for 2 axes"):
        ops.resize(x, sizes=[2])
    with pytest.raises(BadArgument, match="scale of nan"):
        ops.resize(x, scales=[1.0, float("nan")])
    with pytest.raises(BadArgument, match="no resize mode"):
        ops.resize(x, sizes=[4, 4], mode="area")
    with pytest.raises(BadArgument, match="roi"):
        ops.resize(x, sizes=[4, 4], coordinates="tf_crop_and_resize")
    with pytest.raises(NotYet, match="symbolic size"):
        ops.resize(symbol(["n"]), scales=[0.7])
