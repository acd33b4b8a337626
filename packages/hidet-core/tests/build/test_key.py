"""The key of a graph: all that a compilation depends on is in it, and it takes no compiler."""

import subprocess
import sys

import numpy as np
import pytest

from hidet import ops
from hidet.build import draft
from hidet.build.caching import cache, key
from hidet.build.caching.key import key_of_graph
from hidet.build.compile import compile_graph
from hidet.build.planning.kernels import Recipes
from hidet.compute import grid
from hidet.graph import apply, from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.operator import OPERATORS, Op, operator
from hidet.ops.elementwise.families import unary
from hidet.options import OPTIONS, options
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.schedules.base import SCHEDULES, schedule_for
from hidet.target import Target
from hidet.types import TensorType, f16, f32

CPU, GPU = Target.parse("cpu"), Target.parse("sm_90a")


def graph_of(make, shape=(4, 6), dtype=f32, name="x"):
    x = symbol(shape, dtype)
    with tracing():
        outs = make(x)
    return trace_from(outs if isinstance(outs, list) else [outs], [x])


def ones(*shape):
    return from_numpy(np.ones(shape, np.float32))


def different():
    """Graphs of which each computes something else than all others, by what makes it differ."""
    yield "plain", graph_of(lambda x: ops.softmax(x, 1))
    yield "an attribute", graph_of(lambda x: ops.softmax(x, 0))
    yield "an operator", graph_of(lambda x: ops.cumsum(x, 1))
    yield "a shape", graph_of(lambda x: ops.softmax(x, 1), (4, 7))
    yield "a type", graph_of(lambda x: ops.softmax(x, 1), dtype=f16)
    yield "another operator", graph_of(lambda x: ops.relu(ops.softmax(x, 1)))
    yield "their order", graph_of(lambda x: ops.softmax(ops.relu(x), 1))
    yield "a further output", graph_of(lambda x: [ops.softmax(x, 1), ops.relu(x)])
    yield "outputs swapped", graph_of(lambda x: [ops.relu(x), ops.softmax(x, 1)])
    yield "a number", graph_of(lambda x: x * 2.0)
    yield "a nearby number", graph_of(lambda x: x * np.nextafter(2.0, 3.0))
    yield "a constant", graph_of(lambda x: x + ones(6))
    yield "a constant's shape", graph_of(lambda x: x + ones(4, 6))
    yield "two constants", graph_of(lambda x: (x + ones(6)) * ones(6))
    y = ones(6)
    yield "one constant twice", graph_of(lambda x: (x + y) * y)


def test_whatever_a_graph_computes_is_in_its_key():
    keys = {name: key_of_graph(graph, CPU) for name, graph in different()}
    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys)


def test_names_and_values_are_not():
    one = graph_of(lambda x: x + from_numpy(np.zeros(6, np.float32)))
    other = graph_of(lambda x: x + from_numpy(np.arange(6, dtype=np.float32)))
    other.name = "another"
    assert key_of_graph(one, CPU) == key_of_graph(other, CPU)


def another(option):
    """A value that an option does not have here."""
    if option.allowed:
        return next(each for each in option.allowed if each != option.get())
    return not option.get() if isinstance(option.default, bool) else f"{option.get()}sm_80"


@pytest.mark.parametrize("name", sorted(n for n, each in OPTIONS.items() if each.affects_code))
def test_options_that_change_code_are_in_the_key(name):
    graph = graph_of(ops.relu)
    before = key_of_graph(graph, GPU)
    with options(**{name: another(OPTIONS[name])}):
        assert key_of_graph(graph, GPU) != before


def test_target_choices_and_compilers_are_in_the_key(monkeypatch):
    graph = graph_of(ops.relu)
    targets = ("cpu", "cpu+avx2", "cpu+avx512", "sm_80", "sm_90a", "sim")
    keys = [key_of_graph(graph, Target.parse(each)) for each in targets]
    keys.append(key_of_graph(graph, CPU, ["panels 1"]))
    monkeypatch.setattr(key, "cpp_version", lambda: "another compiler")
    keys.append(key_of_graph(graph, CPU))
    monkeypatch.setattr(key, "cuda_version", lambda: "another nvrtc")
    keys.append(key_of_graph(graph, GPU))
    monkeypatch.setattr(cache, "compiler_identity", lambda: "sources that were changed")
    keys.append(key_of_graph(graph, CPU))
    keys.append(key_of_graph(graph, GPU))
    assert len(set(keys)) == len(keys)


# ---- code of others: we cannot see whether it changed -------------------------------------------


@pytest.fixture
def times(tmp_path, monkeypatch):
    """An operator of somebody else's; `times.by` is in its code."""

    class Code:
        by = 2.0

    @operator("times")
    class Times(Op):
        """The operand times what the code says."""

        x: TensorType

        def infer(self):
            return self.x

        def define(self, x):
            return grid(self.x.shape, lambda i: x[i] * Code.by)

        def reference(self, x):
            return x * Code.by

        @classmethod
        def samples(cls):
            yield cls(f32[3])

    Code.apply = staticmethod(lambda x: apply(Times, x))
    with options(cache_dir=str(tmp_path)):
        yield Code
    del OPERATORS["times"]


def computed(graph, value, monkeypatch):
    """The graph's result as a process gives it that has compiled nothing yet."""
    monkeypatch.setattr(draft, "RECIPES", Recipes())
    executor = Executor(compile_graph(graph, "cpu").with_weights(), "cpu")
    (view,) = executor([view_of(value)])
    return array_of(view).copy()


def test_an_operator_of_others_that_changes_is_compiled_again(times, monkeypatch):
    graph = graph_of(times.apply, (3,))
    x = np.ones(3, np.float32)
    assert computed(graph, x, monkeypatch).tolist() == [2, 2, 2]
    times.by = 3.0
    assert computed(graph, x, monkeypatch).tolist() == [3, 3, 3]


def test_a_row_of_others_in_a_family_is_not_ours():
    kind = unary("tripled", "Thrice.", lambda v: v + v + v, lambda x: 3 * x)
    try:
        assert key_of_graph(graph_of(kind), CPU) is None
    finally:
        del OPERATORS["tripled"]


def test_a_schedule_of_others_leaves_no_graph_in_the_cache():
    graph = graph_of(ops.relu)
    assert key_of_graph(graph, CPU) is not None
    schedule_for(Op, target="cpu", space=object)(lambda op, target, point: None)
    try:
        assert key_of_graph(graph, CPU) is None
    finally:
        SCHEDULES.pop()


def test_every_operator_that_comes_with_us_is_known_as_ours():
    ours = {name for name, kind in OPERATORS.items() if kind.__module__.startswith("hidet.")}
    assert ours == set(OPERATORS)


# ---- what a hit takes ---------------------------------------------------------------------------

COMPILER = (
    "codegen",
    "fusion",
    "intrinsics",
    "lang",
    "optimize",
    "passes",
    "schedules",
    "tuning",
)
PROCESS = f"""
import sys
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import symbol, trace_from
from hidet.options import options
x = symbol((4, 6))
with options(cache_dir=sys.argv[1]):
    compile_graph(trace_from([ops.softmax(x, 1)], [x]), sys.argv[2])
print(*(name for name in {COMPILER} if f"hidet.{{name}}" in sys.modules))
"""


def loaded(folder, target):
    """What of the compiler a process has loaded that compiled a graph."""
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, str(folder), target], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_a_process_that_finds_its_graph_loads_no_compiler(tmp_path, target):
    assert loaded(tmp_path, target) == list(COMPILER)
    assert loaded(tmp_path, target) == []
