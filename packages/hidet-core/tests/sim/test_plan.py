"""Whole compiled graphs in the simulator: `HIDET_TARGET=sim`."""

from contextlib import nullcontext

import numpy as np
import pytest

import hidet
from hidet.build.compile import compile_graph
from hidet.build.compiled import build_graph
from hidet.errors import BadArchive, BadArgument
from hidet.graph import evaluate
from hidet.options import options
from hidet.passes.base import with_body
from hidet.passes.launches.overlap_launches import is_wait
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.runtime.plans.archive import read
from hidet.sim import MissingGridWait, Uninitialised, WriteToInput
from hidet.sim.plan import Kernels
from hidet.target import Target


def network():
    """Two layers and a softmax, of odd sizes."""
    random = np.random.default_rng(0)
    w1, w2 = (random.standard_normal(s).astype(np.float32) for s in ((17, 33), (33, 7)))
    x = hidet.symbol((5, 17), "float32", device="cpu")
    hidden = hidet.ops.relu(hidet.ops.matmul(x, hidet.asarray(w1)))
    y = hidet.ops.softmax(hidet.ops.matmul(hidden, hidet.asarray(w2)), -1)

    def reference(given):
        scores = np.maximum(given @ w1, 0) @ w2
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    return hidet.trace_from(y, [x]), reference


def given():
    return np.random.default_rng(1).standard_normal((5, 17)).astype(np.float32)


def test_a_sum_beside_its_norm():
    """What both halves of the result read is there for each, not for the first one alone."""
    random = np.random.default_rng(2)
    x, y = (random.standard_normal(s).astype(np.float32) for s in ((1, 2), (4, 4, 1)))
    of = [hidet.symbol(each.shape, "float32", device="cpu") for each in (x, y)]
    total = of[0] + of[1]
    graph = hidet.trace_from(hidet.ops.concat([total, hidet.ops.group_norm(total, 1)], 1), of)
    with options(target="sim"):
        (found,) = build_graph(graph).run([hidet.asarray(x), hidet.asarray(y)])
    (expected,) = evaluate(graph, x, y)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)


def run(compiled, x):
    weights = {n: view_of(t.storage) for n, t in compiled.weights.items()}
    executor = Executor(compiled.archive, "cpu", weights=weights)
    (y,) = executor([view_of(x)])
    return array_of(y), executor


def test_a_graph_for_cuda_runs_on_the_host():
    graph, reference = network()
    compiled = compile_graph(graph, "sim")
    assert compiled.archive.main.target == "sim"
    y, executor = run(compiled, given())
    np.testing.assert_allclose(y, reference(given()), atol=1e-5)
    (program,) = executor.programs.values()
    assert program.report.executed["store global"] > 0


def test_the_option_and_the_environment_choose_it(monkeypatch):
    graph, reference = network()
    with options(target="sim"):
        y, _ = run(compile_graph(graph), given())
    np.testing.assert_allclose(y, reference(given()), atol=1e-5)
    monkeypatch.setenv("HIDET_TARGET", "sim")
    assert compile_graph(graph).archive.main.target == "sim"


def test_eager_operators_run_in_it_too():
    x = given()
    with options(target="sim"):
        y = hidet.ops.exp(hidet.asarray(x))
    np.testing.assert_allclose(np.asarray(y.numpy()), np.exp(x), rtol=1e-6)


def test_an_archive_of_it_is_a_file_like_any_other():
    graph, reference = network()
    archive = read(compile_graph(graph, "sim").with_weights().to_bytes(), "memory")
    (y,) = Executor(archive, "cpu")([view_of(given())])
    np.testing.assert_allclose(array_of(y), reference(given()), atol=1e-5)


def test_only_the_cpu_runs_it():
    graph, _ = network()
    with pytest.raises(BadArchive, match="for the simulator, on the CPU, not for cuda:0"):
        Executor(compile_graph(graph, "sim").archive, "cuda:0")


def test_targets():
    assert str(Target.parse("sim")) == "sim"
    assert Target.parse("sim").arch == "sm_90a"
    older = Target.parse("sim+sm_80")
    assert (str(older), older.arch, older.simulated) == ("sim+sm_80", "sm_80", True)
    assert Target.parse(str(older)) == older
    for wrong in ("sim+cpu", "sim+sm_1", "sim+"):
        with pytest.raises(BadArgument, match="unknown target"):
            Target.parse(wrong)


def test_steps_write_only_what_the_plan_says_and_read_only_what_was_written():
    graph, _ = network()
    compiled = compile_graph(graph, "sim")
    kernels = Kernels(compiled.archive.binaries)
    _, executor = run(compiled, given())
    (program,) = executor.programs.values()
    bound = program.bound
    numbers = range(len(bound.plan.buffers))
    arrays = {n: np.zeros(bound.shapes[n], np.float32) for n in numbers}
    kernels.run(bound, arrays, lambda step: None)
    last = bound.steps[-1]
    first = bound.steps[0]
    object.__setattr__(bound, "steps", (last,))
    with pytest.raises(Uninitialised, match="is read before it is written"):
        kernels.run(bound, arrays, lambda step: None)
    object.__setattr__(first, "writes", ())
    object.__setattr__(bound, "steps", (first,))
    with pytest.raises(WriteToInput, match="was given to be read only"):
        kernels.run(bound, arrays, lambda step: None)


def arrays_of(bound):
    return {n: np.zeros(shape, np.float32) for n, shape in enumerate(bound.shapes)}


def too_late(kernel):
    """The kernel with its wait behind all else."""
    body = list(kernel.body)
    place = next(i for i, s in enumerate(body) if is_wait(s))
    body.append(body.pop(place))
    return with_body(kernel, tuple(body))


def test_kernels_begin_early_and_one_that_waits_too_late_is_found():
    graph, _ = network()
    compiled = compile_graph(graph, "sim")
    _, executor = run(compiled, given())
    (program,) = executor.programs.values()
    bound = program.bound
    early = [number for number in range(len(bound.steps)) if bound.overlaps(number)]
    assert early == list(range(1, len(bound.steps)))  # a chain: all but the first
    for step in bound.steps:
        kernels = Kernels(compiled.archive.binaries)
        kernels.kernels[step.function] = too_late(kernels.kernels[step.function])
        with pytest.raises(MissingGridWait, match="before griddepcontrol_wait"):
            kernels.run(bound, arrays_of(bound), lambda step: None)


@pytest.mark.parametrize("computed", [False, True])
def test_weights_are_read_ahead_unless_the_kernel_before_computes_them(computed, monkeypatch):
    random, rows = np.random.default_rng(0), (128, 256, 128)
    given, v, w = (random.normal(0, 1 / 16, (n, 256)).astype(np.float16) for n in rows)
    x, linear = hidet.symbol((128, 256), "float16", device="cpu"), hidet.ops.linear
    first, second = (hidet.asarray(each) for each in (v, w))
    y = linear(second, linear(x, first)) if computed else linear(linear(x, first), second)
    compiled = compile_graph(hidet.trace_from(y, [x]), "sim")
    found, executor = run(compiled, given)
    hidden = given.astype(float) @ v.T
    np.testing.assert_allclose(found, w @ hidden.T if computed else hidden @ w.T, atol=1e-3)
    (program,) = executor.programs.values()
    bound = program.bound
    assert [len(step.ahead) for step in bound.steps] == [1, 1]
    assert [bound.overlaps(number) for number in range(2)] == [False, not computed]
    monkeypatch.setattr("hidet.runtime.binding.bound.may_overlap", lambda before, step: True)
    arrays = {n: np.zeros(shape, np.float16) for n, shape in enumerate(bound.shapes)}
    wrong = pytest.raises(MissingGridWait, match="before griddepcontrol_wait")
    with wrong if computed else nullcontext():
        Kernels(compiled.archive.binaries).run(bound, arrays, lambda step: None)


def test_without_early_launches_nothing_has_to_wait():
    graph, reference = network()
    with options(overlap_launches=False):
        compiled = compile_graph(graph, "sim")
    y, executor = run(compiled, given())
    np.testing.assert_allclose(y, reference(given()), atol=1e-5)
    (program,) = executor.programs.values()
    assert not any(map(program.bound.overlaps, range(len(program.bound.steps))))
