"""Results in the place of operands: told by index maps, and seen by the simulator where wrong."""

import numpy as np
import pytest

import hidet
from hidet import script
from hidet.build.choosing.schedule import implement
from hidet.build.compile import compile_graph
from hidet.build.draft import plan_graph
from hidet.build.planning import kernels, recipe
from hidet.build.planning.in_place import in_place, only_stored
from hidet.ir.access import read_only
from hidet.ir.expr import Builtin, Lane, Load, Pack, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Declare, Store
from hidet.lang import attr, f16, f32, grid, i32
from hidet.lang.cuda import atomic_add, blockIdx, griddepcontrol_launch_dependents, threadIdx
from hidet.options import options
from hidet.passes.pipeline import lower
from hidet.runtime.binding.footprint import bound_at
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.sim import Race
from hidet.testing.fused import CUDA, groups_of
from hidet.testing.graphs import sizes
from hidet.types import VectorType


@script
def elementwise(x: f32[128], y: f32[128]):
    attr.cuda_grid_dim = 4
    attr.cuda_block_dim = 32
    i = blockIdx.x * 32 + threadIdx.x
    y[i] = x[i] * x[i] + 1.0


@script
def two_operands(x: f32[64, 8], b: f32[8], y: f32[64, 8]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 64
    for j in grid(8, attrs="u"):
        y[threadIdx.x, j] = x[threadIdx.x, j] + b[j]


@script
def neighbours(x: f32[128], y: f32[128]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 128
    y[threadIdx.x] = x[threadIdx.x] + x[(threadIdx.x + 1) % 128]


@script
def reversed_order(x: f32[128], y: f32[128]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 128
    y[threadIdx.x] = x[127 - threadIdx.x]


@script
def sums_of_rows(x: f32[32, 8], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    total = f32(0.0)
    for j in range(8):
        total += x[threadIdx.x, j]
    y[threadIdx.x] = total


@script
def used_again(x: f32[32], y: f32[32], z: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    value = x[threadIdx.x]
    y[threadIdx.x] = value
    z[threadIdx.x] = value * 2.0


@script
def used_at_another_place(x: f32[32], y: f32[33], z: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    value = x[threadIdx.x]
    y[threadIdx.x + 1] = value
    y[threadIdx.x] = value * 2.0
    z[threadIdx.x + i32(value)] = value


@script
def loaded_again(x: f32[32], y: f32[32], z: f32[16]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    y[threadIdx.x] = x[threadIdx.x]
    if threadIdx.x < 16:
        z[threadIdx.x] = x[threadIdx.x]


@script
def written_twice(x: f32[32], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    y[threadIdx.x] = 0.0
    y[threadIdx.x] = x[threadIdx.x]


@script
def iteration_after_iteration(x: f32[32], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    for k in range(3):
        y[threadIdx.x] = x[threadIdx.x] + f32(k)


@script
def by_one_of_the_threads(x: f32[32], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 64
    value = x[threadIdx.x // 2]
    if threadIdx.x % 2 == 0:
        y[threadIdx.x // 2] = value


@script
def unrelated(x: f32[32], y: f32[32], z: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    y[threadIdx.x] = 1.0
    z[threadIdx.x] = x[threadIdx.x]


@script
def other_type(x: f16[32], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    y[threadIdx.x] = f32(x[threadIdx.x])


@script
def added(x: f32[32], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    atomic_add(~y[threadIdx.x], x[threadIdx.x])


@script
def index_from_memory(x: f32[32], at: hidet.lang.i32[32], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    y[at[threadIdx.x]] = x[at[threadIdx.x]]


@script
def guarded(x: f32[100], y: f32[100]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 64
    for iteration in grid(2, attrs="u"):
        at = threadIdx.x + iteration * 64
        if at < 100:
            y[at] = x[at] + 1.0


@script
def stored_by_fewer(x: f32[64], y: f32[64]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 64
    value = x[threadIdx.x]
    if threadIdx.x < 60:
        y[threadIdx.x] = value


@script
def lets_the_next_begin(x: f32[32], y: f32[32]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 32
    griddepcontrol_launch_dependents()
    y[threadIdx.x] = x[threadIdx.x] + 1.0


@script
def lanes_in_pairs(x: f32[128], y: f32[128]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 64
    first = threadIdx.x * 2
    y[first] = x[first] + x[first + 1]
    y[first + 1] = x[first] - x[first + 1]


@pytest.mark.parametrize(
    ("function", "pairs"),
    [
        (elementwise, ["y over x"]),
        (two_operands, ["y over x"]),
        (neighbours, []),
        (reversed_order, []),
        (sums_of_rows, []),
        (used_again, ["y over x", "z over x"]),
        (used_at_another_place, []),
        (loaded_again, []),
        (written_twice, []),
        (iteration_after_iteration, []),
        (by_one_of_the_threads, []),
        (unrelated, ["z over x"]),
        (other_type, []),
        (added, []),
        (index_from_memory, []),
        (lanes_in_pairs, []),
        (guarded, ["y over x"]),
        (stored_by_fewer, []),
        (lets_the_next_begin, ["y over x"]),
    ],
    ids=lambda each: getattr(getattr(each, "kernel", None), "name", ""),
)
def test_index_maps_tell_what_may_lie_in_whose_place(function, pairs):
    found = in_place(lower(function.kernel))
    assert [f"{new.name} over {old.name}" for new, old in found] == pairs


def of_lanes(stored):
    """A thread loads four neighbours, and stores what `stored` makes of them as one access."""
    x, y, z = (Var(name, f32[128]) for name in "xyz")
    at, loaded = Builtin("threadIdx.x") * 4, Var("loaded", VectorType(f32, 4))
    lanes = [Lane(loaded, lane) + 1.0 for lane in range(4)]
    body = (
        Declare(loaded, Load(x, (at,), 4)),
        Store(y, (at,), Pack(tuple(stored(lanes)))),
        Store(z, (at,), Pack(tuple(lanes))),
    )
    return Kernel("k", (x, y, z), body)


@pytest.mark.parametrize(
    ("stored", "pairs"),
    [
        (lambda lanes: lanes, ["y over x", "z over x"]),
        (lambda lanes: [lanes[0], *[constant(0.0, f32)] * 3], ["y over x", "z over x"]),
        (lambda lanes: [constant(0.0, f32)] * 4, ["z over x"]),
        (lambda lanes: lanes[::-1], ["z over x"]),
        (lambda lanes: [*lanes[:3], lanes[0]], ["z over x"]),
    ],
    ids=["straight", "the first", "none", "turned round", "one twice"],
)
def test_each_lane_goes_where_it_came_from(stored, pairs):
    found = in_place(of_lanes(stored))
    assert [f"{new.name} over {old.name}" for new, old in found] == pairs


def residual(turned):
    """Two products, what came before them added: nothing reads that afterwards.

    If it is added `turned` around, its place is read by others than those who write it.
    """
    x = hidet.symbol((33, 33), "float32", device="cpu")
    weights = np.random.default_rng(0).standard_normal((33, 33)).astype(np.float32) / 4
    w = hidet.asarray(weights)
    first = hidet.ops.matmul(x, w)
    middle = hidet.ops.relu(hidet.ops.matmul(first, w))
    added = hidet.ops.permute(first, (1, 0)) if turned else first
    result = hidet.ops.matmul(hidet.ops.matmul(middle, w) + added, w)

    def reference(given):
        first = given.astype(np.float64) @ weights
        middle = np.maximum(first @ weights, 0)
        return (middle @ weights + (first.T if turned else first)) @ weights

    return hidet.trace_from(result, [x]), reference


def run(graph, target):
    compiled = compile_graph(graph, target)
    weights = {n: view_of(t.storage) for n, t in compiled.weights.items()}
    executor = Executor(compiled.archive, "cpu", weights=weights)
    shape = sizes(graph.inputs[0])
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (y,) = executor([view_of(x)])
    return x, array_of(y), executor


@pytest.fixture(autouse=True)
def switched_on():
    with options(in_place=True):
        yield


@pytest.mark.parametrize("target", ["sim", "cpu"])
def test_a_result_in_the_place_of_an_operand_is_right(target):
    graph, reference = residual(turned=False)
    x, y, executor = run(graph, target)
    np.testing.assert_allclose(y, reference(x), atol=1e-4)
    (program,) = executor.programs.values()
    replaced = {new: old for new, old in program.bound.places.items() if new != old}
    assert replaced, "the sum takes the place of what it adds"
    offsets = program.bound.arena.offsets
    assert all(offsets[new] == offsets[old] for new, old in replaced.items())


@pytest.mark.parametrize("on", [True, False])
def test_operands_that_may_be_overwritten_are_not_said_to_stay(on):
    graph, _ = residual(turned=False)
    taken = 0
    with options(in_place=on):
        for group in groups_of(graph):
            for made in implement(group, CUDA):
                found = recipe.recipe(made, CUDA)
                for step, function in zip(found.launches, found.functions, strict=True):
                    taken += len(step.in_place)
                    reads = set(step.reads) - set(step.writes)
                    promised = function.text.count("__restrict__")
                    assert promised == len(reads) - len({old for _, old in step.in_place})
    assert taken == int(on)


def everything(kernel):
    """What nobody may believe: any result over any operand of its type."""
    operands = [p for p in reversed(kernel.params) if p in read_only(kernel)]
    return [(r, o) for r in only_stored(kernel) for o in operands if o.dtype == r.dtype]


def test_the_simulator_sees_a_place_that_is_taken_wrongly(monkeypatch):
    graph, reference = residual(turned=True)
    x, y, _ = run(graph, "sim")
    np.testing.assert_allclose(y, reference(x), rtol=1e-4, atol=1e-3)
    monkeypatch.setattr(recipe, "in_place", everything)
    monkeypatch.setattr(kernels.Recipes, "find", lambda self, key: None)
    with options(cache=False), pytest.raises(Race, match="race"):
        run(graph, "sim")


@pytest.mark.parametrize("turned", [False, True])
def test_on_a_gpu_a_place_is_taken_where_the_elements_meet(turned):
    graph, _ = residual(turned)
    bound = bound_at(plan_graph(graph, "sm_90a")["main"], {})
    assert any(new != old for new, old in bound.places.items()) is not turned
    buffer = 33 * 33 * 4 // 256 * 256 + 256
    assert bound.arena.nbytes == (3 if turned else 2) * buffer
