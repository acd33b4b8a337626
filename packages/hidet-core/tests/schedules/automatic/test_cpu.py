"""The automatic schedule on CPU: simulated on odd sizes after all passes, and compiled."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.graph import apply
from hidet.ir.expr import Binary, FloorDiv, FloorMod, Load, Math, Select, Var
from hidet.ir.stmt import For, LoopKind, Store
from hidet.ir.walk import find
from hidet.ops.reductions.cumulative import CumMax
from hidet.passes.pipeline import lower
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import boolean, f16, f32, f64, i32

OPTIMIZED = ("-O3", "-fopenmp-simd")
CPU = Target.parse("cpu+avx512")


def windows(n):
    """Pools and pads of planes whose rows have `n` elements."""
    image = f32[2, 3, 5, n]
    return {
        "average": (lambda x: ops.avg_pool(x, (3, 3), stride=1, padding=1), image),
        "own count": (
            lambda x: ops.avg_pool(x, (3, 3), stride=2, padding=1, count_include_pad=False),
            image,
        ),
        "greatest": (lambda x: ops.max_pool(x, (3, 3), stride=2, padding=1), image),
        "by steps": (lambda x: ops.max_pool(x, (2, 1), stride=(1, 3)), image),
        "wide": (lambda x: ops.avg_pool(x, (9, 9), stride=1, padding=4), f32[1, 1, 9, n]),
        "depthwise": (
            lambda x, w: ops.conv(x * x, w * w, padding=((1, 1), (1, 1)), groups=3),
            image,
            f32[3, 1, 3, 3],
        ),
        "depthwise by steps": (
            lambda x, w: ops.conv(x * x, w * w, stride=(2, 2), padding=((1, 0), (1, 0)), groups=3),
            image,
            f32[6, 1, 2, 2],
        ),
        "pad": (lambda x: ops.pad(x, [(0, 0), (0, 0), (1, 2), (3, 1)]), image),
        "edges": (lambda x: ops.pad(x, [(0, 0), (0, 0), (1, 2), (3, 1)], "replicate"), image),
        "doubles": (lambda x: ops.max_pool(x, (3, 3), stride=1, padding=1), f64[1, 2, 3, n]),
    }


def running(n):
    """Running combinations of which neighbours are independent."""
    return {
        "running sum": (lambda x: ops.cumsum(x, 1), f32[2, 5, n]),
        "running product": (lambda x: ops.cumprod(x, 0), f32[5, 2, n]),
        "running sum of planes": (lambda x: ops.cumsum(x, 1), f64[3, 4, 2, n]),
        "running sum of whole numbers": (lambda x: ops.cumsum(x, 1), i32[2, n]),
        "running product of a row": (lambda x: ops.cumprod(x, 0), i32[n]),
        "running sum of flags": (lambda x: ops.cumsum(x, 1), boolean[3, n]),
        "greatest so far": (lambda x: apply(CumMax, x, axis=1), f64[2, n]),
    }


def channels(n):
    """Elements of which those of all channels share the places and factors."""
    image, places = f32[2, 5, 6, n], f32[2, 9, n, 2]
    return {
        "sampled": (lambda x, at: ops.grid_sample(x * 0.01, at * 0.2), image, places),
        "sampled with borders": (
            lambda x, at: ops.grid_sample(x * 0.01, at, padding="border"),
            image,
            places,
        ),
        "sampled nearest": (
            lambda x, at: ops.grid_sample(x, at * 0.2, mode="nearest"),
            image,
            places,
        ),
        "scaled by a curve": (curved, f32[17, 4, n], f32[17, 1, n]),
    }


def curved(x, y):
    """x with factors that cost much and have no channel, some of which are left out."""
    factor = ops.tanh(y * y + 1.0) * (y - 2.0) + ops.sigmoid(y * 3.0 - 1.0) * (y * 0.5 + 4.0)
    return ops.where(ops.greater(y * factor, 1.0), x * factor, x)


def shuffled(x):
    """Channels of two groups in turns."""
    n, _, height, width = x.shape
    groups = ops.permute(ops.reshape(x, (n, 2, 2, height, width)), (0, 2, 1, 3, 4))
    return ops.reshape(groups, x.shape)


def joined(n):
    return {
        "three": (lambda a, b, c: ops.concat([a, b, c], 1), f32[3, n], f32[3, 7], f32[3, n]),
        "rows": (lambda a, b: ops.concat([a, b], 0), f32[2, n], f32[3, n]),
        "whole": (lambda a, b: ops.concat([a, b], 1), i32[2, n], i32[2, 2 * n]),
    }


def turned(n):
    """Results whose rows run across those of an operand."""
    return {
        "transpose": (lambda x: ops.permute(x, (1, 0)), f32[13, n]),
        "across": (lambda x: ops.permute(x, (1, 0)), f32[n, 16]),
        "channels last": (lambda x: ops.permute(x, (0, 2, 3, 1)), f32[2, 9, 3, n]),
        "added": (lambda x, y: ops.permute(x, (0, 2, 1)) + y, f64[2, 11, n], f64[2, n, 11]),
    }


def rows(n):
    """Reductions along rows of `n` elements."""
    return {
        "softmax": (lambda x: ops.softmax(x, axis=1), f32[3, n]),
        "log softmax": (lambda x: ops.log_softmax(x, axis=1), f32[3, n]),
        "mean": (lambda x: ops.mean(x, axes=1), f32[3, n]),
        "greatest of a row": (lambda x: ops.max(x, axes=1), f64[3, n]),
        "product": (lambda x: ops.prod(x * 0.1, axes=1), f32[2, n]),
        "plane": (lambda x: ops.mean(x, axes=(2, 3)), f32[2, 3, 7, n]),
        "volume": (lambda x: ops.sum(x, axes=(1, 2, 3)), f32[2, 2, 3, n]),
        "group norm": (lambda x: ops.group_norm(x, 2), f32[1, 4, 3, n]),
        "where": (lambda x: ops.argmax(x, axis=1), f32[3, n]),
        "where of integers": (lambda x: ops.argmin(x, axis=1), i32[3, n]),
        "columns": (lambda x: ops.sum(x * x, axes=0), f32[71, n]),
        "columns of planes": (lambda x: ops.max(x, axes=(0, 2)), f64[2, 3, 16, n]),
        "wide columns": (lambda x: ops.mean(x, axes=0), f32[18, 2 * n]),
    }


def phases(n):
    """Rows of which neighbours share what they read."""
    return {
        "nearest": (lambda x: ops.resize(x, scales=[1, 2, 2], mode="nearest"), f32[2, 3, n]),
        "linear": (lambda x: ops.resize(x, scales=[1, 2, 2], mode="linear"), f32[2, 3, n]),
        "cubic": (lambda x: ops.resize(x, scales=[1, 3], mode="cubic") * 2.0, f32[2, n]),
        "taken by turns": (
            lambda x: ops.reshape(ops.permute(x, (1, 2, 0)), (3, 2 * n)) * 2.0,
            f32[2, 3, n],
        ),
    }


def runs(n):
    """Rows of which the next one goes on in memory."""
    image, channel = f32[2, 3, 5, n], f32[3, 1, 1]
    return {
        "scaled": (lambda x, s, b: ops.relu(x * s + b), image, channel, channel),
        "with a plane": (lambda x, y: x * y, image, f32[5, n]),
        "with a column": (lambda x, y: x + y, image, f32[5, 1]),
        "shuffled": (shuffled, f32[3, 4, 5, n]),
    }


STRETCHES = {
    "short rows": (lambda x, y: x * y, f32[1501, 3], f32[1501, 3]),
    "odd rows": (lambda x, s: x * 2.0 + s, f64[5, 9, 107], f64[1]),
    "whole stretches": (lambda x: ops.cast(x, i32), f32[2048, 1, 4]),
    "one row": (lambda x: ops.absolute(x), f32[4500]),
}
"""More than a stretch of elements that lie as one run."""

CASES = STRETCHES | {
    f"{name} {n}": case
    for n in (1, 2, 7, 17, 53, 129, 331)
    for name, case in {
        **windows(n),
        **joined(n),
        **turned(n),
        **rows(n),
        **phases(n),
        **runs(n),
        **running(n),
        **channels(n),
    }.items()
    if n < 300 or name in rows(n) | running(n)
}


@pytest.mark.parametrize("name", CASES)
def test_simulated(made, name):
    function, *types = CASES[name]
    made(function, *types, target=CPU).check(low=-9, high=9, lowered=True)


@pytest.fixture(scope="module")
def library(made, compile_modules):
    modules = [made(function, *types, target=CPU) for function, *types in CASES.values()]
    return modules, compile_modules([each.module for each in modules], *OPTIMIZED)


@pytest.mark.parametrize("number", range(len(CASES)), ids=CASES)
def test_compiled(library, number):
    modules, compiled = library
    modules[number].check(low=-9, high=9, run=lambda *arrays: compiled(number, *arrays))


def inner_loops(found):
    """The vector loops of all kernels that have more turns than a vector has lanes."""
    kernels = (lower(each) for each in found.module.kernels)
    loops = (loop for kernel in kernels for loop in find(kernel.body, For))
    return [each for each in loops if each.kind is LoopKind.VECTOR and each.extent.value > 16]


@pytest.mark.parametrize("name", ["average 129", "greatest 129", "pad 129", "three 129"])
def test_what_is_read_inside_has_no_condition(made, name):
    """Of a row of an image whose window lies inside; the rows at the border ask for rows alone."""
    function, *types = CASES[name]
    loops = inner_loops(made(function, *types, target=CPU))
    assert any(not list(find(loop.body, Select)) for loop in loops)
    for loop in loops:
        for choice in find(loop.body, Select):
            assert loop.var not in find([choice.condition], type(loop.var))


@pytest.mark.parametrize("name", ["nearest 129", "linear 129", "taken by turns 129"])
def test_loops_over_phases_divide_and_choose_nothing(made, name):
    """Rows do: which of the rows above counts more, and what is at the ends."""
    function, *types = CASES[name]
    loops = inner_loops(made(function, *types, target=CPU))
    assert loops
    for loop in loops:
        asked = [choice.condition for choice in find(loop.body, Select)]
        asked += [e for e in find(loop.body, Binary) if isinstance(e, FloorDiv | FloorMod)]
        assert loop.var not in find(asked, type(loop.var))


@pytest.mark.parametrize(
    ("name", "extent"),
    [("scaled 7", 35), ("with a plane 53", 265), ("with a column 7", 7), ("shuffled 7", 35)],
)
def test_rows_that_go_on_are_one(made, name, extent):
    function, *types = CASES[name]
    (kernel,) = (lower(each) for each in made(function, *types, target=CPU).module.kernels)
    loops = [each for each in find(kernel.body, For) if each.kind is LoopKind.VECTOR]
    assert [each.extent.value for each in loops] == [extent]
    divided = [e for e in find(loops[0].body, Binary) if isinstance(e, FloorDiv | FloorMod)]
    assert loops[0].var not in find(divided, Var)


@pytest.mark.parametrize(
    ("name", "length"),
    [("short rows", 4503), ("odd rows", 4815), ("whole stretches", 4096), ("one row", 4500)],
)
def test_a_run_is_shared_by_the_team_in_stretches(made, name, length):
    """Whatever its axes: nothing is divided in the loops, and all are as long."""
    function, *types = STRETCHES[name]
    (kernel,) = (lower(each) for each in made(function, *types, target=CPU).module.kernels)
    loops = [each for each in find(kernel.body, For) if each.kind is LoopKind.VECTOR]
    assert [each.extent.value for each in loops] == [length]
    divided = [e for e in find(loops, Binary) if isinstance(e, FloorDiv | FloorMod)]
    assert not divided
    assert not list(find(loops, Select))


@pytest.mark.parametrize(
    ("function", "types"),
    [
        (lambda x, y: x + y, (f32[1501, 3], f32[1501, 1])),
        (lambda x: ops.flip(x, (1,)), (f32[1501, 3],)),
        (lambda x: ops.concat([x, x], 1), (f32[1501, 3],)),
        (lambda x: x * 2.0, (f32[600, 256],)),
    ],
)
def test_what_lies_in_no_run_is_taken_by_rows(made, function, types):
    (kernel,) = made(function, *types, target=CPU).module.kernels
    loops = [each for each in find(kernel.body, For) if each.kind is LoopKind.VECTOR]
    columns = types[0].shape[1]
    assert all(each.extent.value in (columns, 2 * columns) for each in loops)


@pytest.mark.parametrize(("shape", "extent"), [((5, 64, 1), 64), ((5, 9, 7, 1, 1), 63)])
def test_last_axes_of_one_element_are_in_the_row(made, shape, extent):
    """An image of one channel, with its channels last."""
    found = made(lambda x: ops.reshape(x * 2.0 + 1.0, shape), f32[shape], target=CPU)
    loops = [e for k in found.module.kernels for e in find(lower(k).body, For)]
    assert [e.extent.value for e in loops if e.kind is LoopKind.VECTOR] == [extent]


@pytest.mark.parametrize("name", [*channels(1)])
def test_what_channels_share_is_computed_once(made, name):
    """Into arrays of a strip, ahead of the loop over channels."""
    function, *types = CASES[f"{name} 53"]
    (kernel,) = (lower(each) for each in made(function, *types, target=CPU).module.kernels)
    first, second = (each for each in find(kernel.body, For) if each.kind is LoopKind.VECTOR)
    shared = {each.tensor for each in find(first.body, Store)}
    assert shared
    assert not list(find(second.body, Math))
    assert shared <= {each.tensor for each in find(second.body, Load)}


def test_nan_is_greater_than_all(made, compile_modules):
    found = made(lambda x: ops.max_pool(x, (2, 2)), f32[1, 1, 4, 66], target=CPU)
    x = np.random.default_rng(0).normal(size=(1, 1, 4, 66)).astype(np.float32)
    x[0, 0, 0, 0] = x[0, 0, 1, 5] = x[0, 0, 2, 64] = x[0, 0, 3, 65] = np.nan
    y = np.zeros((1, 1, 2, 33), np.float32)
    compile_modules([found.module], *OPTIMIZED)(0, x, y)
    wanted = x.reshape(2, 2, 33, 2).max(axis=(1, 3))
    np.testing.assert_array_equal(y[0, 0], wanted)


@pytest.mark.parametrize("n", [64, 67, 331])
def test_the_first_of_equals_and_of_nan_wins(made, compile_modules, n):
    found = made(lambda x: ops.argmax(x, axis=1), f32[6, n], target=CPU)
    x = np.random.default_rng(0).integers(-3, 3, (6, n)).astype(np.float32)
    x[1] = -np.inf
    x[2, 40:] = x[3, n - 1] = x[4, 0] = np.nan
    x[5] = -0.0
    x[5, 9] = 0.0
    where = np.zeros(6, np.int64)
    compile_modules([found.module], *OPTIMIZED)(0, x, where)
    np.testing.assert_array_equal(where, x.argmax(axis=1))
    where[:] = 0
    sim.launch(as_run(found.module, CPU), x, where)
    np.testing.assert_array_equal(where, x.argmax(axis=1))


@pytest.mark.parametrize("of", [f16, f32, f64])
@pytest.mark.parametrize("n", [15, 64, 67, 331])
def test_running_sums_of_a_row_are_near_exact_ones(made, compile_modules, n, of):
    """Errors count beside what was added up, of which a part cancels."""
    found = made(lambda x: ops.cumsum(x, 1), of[4, n], target=CPU)
    x = np.random.default_rng(0).normal(size=(4, n)).astype(of.numpy)
    y = np.zeros_like(x)
    compile_modules([found.module], *OPTIMIZED)(0, x, y)
    wide = x.astype(np.longdouble)
    added, wanted = np.abs(wide).cumsum(axis=1), wide.cumsum(axis=1)
    inside = np.finfo(np.float64 if of is f64 else np.float32).eps
    rounding = np.finfo(of.numpy).eps * np.abs(wanted) + 16 * inside * added
    assert (np.abs(y - wanted) <= rounding).all()


def test_powers_of_a_softmax_are_computed_once(made):
    def powers(rows, n):
        (kernel,) = made(lambda x: ops.softmax(x, axis=1), f32[rows, n], target=CPU).module.kernels
        return len({each for each in find(kernel.body, Math) if each.name.startswith("exp")})

    assert powers(3, 96) == 1
    assert powers(64, 16384) == 2  # more than a cache should hold


@pytest.mark.parametrize("n", [7, 129])
def test_softmax_and_its_logarithm_of_rows_with_nan_and_infinities(made, compile_modules, n):
    """Of a softmax the sum of powers tells, so that the maximum need not."""
    x = np.random.default_rng(0).normal(size=(5, n)).astype(np.float32)
    x[0, 0] = x[1, n - 1] = np.nan
    x[2, 3] = np.inf
    x[3, 2:] = -np.inf
    x[4] = -np.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        softmax = powers / powers.sum(axis=1, keepdims=True)
        logarithm = np.log(powers) - np.log(powers.sum(axis=1, keepdims=True))
    for function, wanted in ((ops.softmax, softmax), (ops.log_softmax, logarithm)):
        found = made(lambda x, function=function: function(x, axis=1), f32[5, n], target=CPU)
        y = np.zeros_like(x)
        compile_modules([found.module], *OPTIMIZED)(0, x, y)
        np.testing.assert_allclose(y, wanted, rtol=1e-5)


def test_axes_that_lie_in_one_run_are_one(made):
    (kernel,) = made(lambda x: ops.mean(x, axes=(2, 3)), f32[2, 3, 7, 7], target=CPU).module.kernels
    lanes = [loop for loop in find(lower(kernel).body, For) if loop.kind is LoopKind.VECTOR]
    assert lanes[0].extent.value == 16
    assert not list(find(lower(kernel).body, FloorMod))


@pytest.mark.parametrize("how", [ops.sum, ops.var, ops.max])
def test_images_with_their_channels_last_are_taken_as_they_lie(made, how):
    """All of an image is one run, whichever axis comes first: accumulators are lanes of vectors,
    and few elements are added one after the other."""

    def all_of_each(x):
        return how(ops.permute(x, (0, 3, 1, 2)), (1, 2, 3))

    (kernel,) = made(all_of_each, f32[2, 37, 29, 8], target=CPU).module.kernels
    vectors = [loop for loop in find(lower(kernel).body, For) if loop.kind is LoopKind.VECTOR]
    assert vectors[0].extent.value == 64
    assert not list(find(vectors[0].body, FloorMod))
