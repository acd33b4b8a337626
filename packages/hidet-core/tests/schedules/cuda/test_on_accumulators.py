"""What is made of sums of warpgroups alone is computed before they are rounded, though they are
written through shared memory: on sizes that no tile divides, in the simulator, as kernels are
launched."""

from dataclasses import replace
from math import erf

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.schedule import implement
from hidet.graph import symbol, trace_from
from hidet.ir.expr import Var
from hidet.options import options
from hidet.schedules.base import Choice
from hidet.schedules.cuda.warpgroups.matmul import MatrixWarpgroups
from hidet.target import Target
from hidet.testing.fused import as_run, groups_in
from hidet.types import bf16, f16, i32

TARGET = Target.parse("sm_90a")
P = MatrixWarpgroups
POINTS = [P((64, 64), 3, 1), P((64, 128), 8, 1), P((128, 192), 3, 1)]
"""Those whose blocks share a multiprocessor, are alone there, and write in several parts."""
CASES = pytest.mark.parametrize(
    ("sizes", "of", "point"),
    [
        ((1, 8, 1), f16, POINTS[0]),
        ((7, 72, 201), bf16, POINTS[1]),
        ((129, 64, 264), f16, POINTS[2]),
        ((130, 40, 57), f16, POINTS[0]),
        ((131, 40, 200), bf16, POINTS[2]),
    ],
    ids=str,
)
ONCE = 0.65
"""How far what is rounded once is from what is right, in units of the last place: half of one, and
what sums and functions in float32 lose. Rounded twice it may be a whole one."""


def numbers(of, *shape, low=-1.0, seed=0):
    return np.random.default_rng((seed, *shape)).uniform(low, 1, shape).astype(of.numpy)


def wide(array):
    return array.astype(np.float64)


def off(found, exact, of):
    """How far numbers of a narrow type are from what is right, in units of their last place."""
    bits, least = (10, -14) if of is f16 else (7, -126)
    power = np.maximum(np.floor(np.log2(np.abs(exact) + 1e-300)), least)
    return np.abs(wide(found) - exact) / 2.0 ** (power - bits)


def implemented(make, arrays, choice, target=TARGET, **settings):
    """A function of tensors as a graph, and that as one kernel of a schedule at a point."""
    inputs = [symbol(each.shape, str(each.dtype)) for each in arrays]
    made = make(*inputs)
    graph = trace_from(made if isinstance(made, list) else [made], inputs)
    with options(parallel_k=1, **settings):
        (group,) = groups_in(graph, target)
        group.choice = choice
        (built,) = implement(group, target)
    assert len(built.module.kernels) == 1
    return graph, built


def run(make, arrays, choice, target=TARGET, **settings):
    """The results of a function of tensors, by such a kernel."""
    graph, built = implemented(make, arrays, choice, target, **settings)
    values = dict(zip(graph.inputs, arrays, strict=True))
    values |= {t: np.full(t.shape, np.nan, t.dtype.numpy) for t in built.group.results}
    tensors = (*built.group.inputs, *built.group.results)
    sim.launch(as_run(built.module, target), *(values[each] for each in tensors))
    found = [values[each] for each in graph.outputs]
    return found if len(found) > 1 else found[0]


def gelu(x):
    return x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2


def product(of, m, k, n):
    """Operands of a product whose sums are about 1, and these."""
    x, w, bias = numbers(of, m, k, low=0.3), numbers(of, n, k, low=0.3), numbers(of, n)
    x = (wide(x) / k).astype(of.numpy)
    return [x, w, bias], wide(x) @ wide(w).T + wide(bias)


@CASES
def test_a_function_of_sums(sizes, of, point):
    given, exact = product(of, *sizes)
    choice = Choice("matmul_wgmma", point)

    def make(x, w, bias):
        return ops.gelu(ops.linear(x, w, bias))

    found = run(make, given, choice)
    far = np.abs(exact) > 0.1
    assert not far.any() or off(found, gelu(exact), of)[far].max() < ONCE
    if exact.size > 1000:
        rounded = run(make, given, choice, round_each=True)
        assert off(rounded, gelu(exact), of)[far].max() > ONCE


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_blocks_take_tiles_in_turns(point, cores):
    """And a result whose rows are columns."""
    given, exact = product(f16, 130, 72, 264)

    def make(x, w, bias):
        return ops.gelu(ops.transpose(ops.linear(x, w, bias), 0, 1))

    target = replace(TARGET, cores=cores)
    found = run(make, given, Choice("matmul_wgmma", point), target)
    assert off(found, gelu(exact.T), f16)[np.abs(exact.T) > 0.1].max() < ONCE


@CASES
def test_what_is_made_of_neighbours(sizes, of, point):
    """A gate: each element of one sum and the next."""
    m, k, n = sizes
    given, exact = product(of, m, k, 2 * n)

    def make(x, w, bias):
        y = ops.linear(x, w, bias)
        return ops.silu(ops.slice(y, -1, 0, None, 2)) * ops.slice(y, -1, 1, None, 2)

    wanted = exact[:, ::2] / (1 + np.exp(-exact[:, ::2])) * exact[:, 1::2]
    found = run(make, given, Choice("matmul_wgmma", point))
    far = np.abs(wanted) > 0.1
    assert not far.any() or off(found, wanted, of)[far].max() < ONCE


def test_a_size_known_at_run_time():
    shapes = (Var("m", i32), 72), (40, 72), (40,)
    inputs = [symbol(each, "float16") for each in shapes]
    graph = trace_from([ops.gelu(ops.linear(*inputs))], inputs)
    (group,) = groups_in(graph, TARGET)
    group.choice = Choice("matmul_wgmma", POINTS[0])
    (built,) = implement(group, TARGET)
    for m in (1, 33, 129):
        given, exact = product(f16, m, 72, 40)
        out = np.full((m, 40), np.nan, np.float16)
        values = dict(zip(graph.inputs, given, strict=True))
        sim.launch(as_run(built.module), *(values[each] for each in built.group.inputs), out, m=m)
        assert off(out, gelu(exact), f16)[np.abs(exact) > 0.1].max() < ONCE
