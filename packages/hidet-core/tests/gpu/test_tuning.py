"""Tuning on a GPU: candidates timed there, a faulty one survived, the best compiled."""

import json
import time

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing import choices as known
from hidet.build.compile import compile_graph
from hidet.graph import evaluate, from_numpy, symbol, trace_from
from hidet.options import options
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Buffer, Launch, Plan, Pointer
from hidet.testing.compare import assert_close
from hidet.toolchain import compile_cuda
from hidet.tuning import store
from hidet.tuning.contest import GAIN, Refused
from hidet.tuning.record import Record
from hidet.tuning.testbed import Testbed as Bed
from hidet.tuning.verdict import Expected, Problem

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def own_records(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_memory", {})
    with options(cache_dir=str(tmp_path)):
        yield


FEW = 24
"""Candidates, first by the cost model, that stand for the whole space: that takes a minute."""
SECONDS = 30
"""Of a search: where other tests keep all cores busy no candidate was measured after ten."""


def product():
    """A fused product of float16, with its weights."""
    random = np.random.default_rng(0)
    w = from_numpy(random.uniform(-1, 1, (256, 512)).astype(np.float16)).cuda()
    x = symbol([128, 256], "float16", device="cuda:0")
    return trace_from(ops.relu(x @ w), inputs=[x])


def only_record():
    read = map(json.loads, (each.read_text() for each in store.folder().glob("*.json")))
    (entry,) = (each for each in read if "group" in each["facts"])
    ((name, data),) = entry["devices"].items()
    assert "NVIDIA" in name
    return Record.from_json(data)


def test_a_search_ends_in_time_and_keeps_the_best():
    begin = time.monotonic()
    with options(search_space=2, tune_seconds=SECONDS):
        compile_graph(product())
    # A look at the problem, a candidate's last measurements and the build come on top.
    assert time.monotonic() - begin < SECONDS + 15
    record = only_record()
    best = next(each for each in record.trials if each.name == record.best)
    timed = [each.seconds for each in record.trials if each.seconds is not None]
    assert best.seconds <= min(timed) / GAIN
    assert timed


@pytest.mark.parametrize("level", [1, 2])
def test_a_fused_product_is_tuned_and_right(level, monkeypatch):
    whole = known.choices
    monkeypatch.setattr(known, "choices", lambda *asked: whole(*asked)[:FEW])
    random, graph = np.random.default_rng(1), product()
    with options(search_space=level):
        made = compile_graph(graph)
        again = compile_graph(graph)
    assert made.archive.to_bytes() == again.archive.to_bytes()
    record = only_record()
    assert record.level == level
    timed = [each.seconds for each in record.trials if each.seconds is not None]
    assert timed
    assert all(each > 5e-7 for each in timed)  # a kernel ran: less is the events' own time
    array = random.uniform(-1, 1, (128, 256)).astype(np.float16)
    weights = {name: tensor.storage for name, tensor in made.weights.items()}
    (view,) = Executor(made.archive, "cuda:0", weights=weights)([to_device(array, "cuda:0")])
    expected = evaluate(graph, array)[0]
    assert_close(array_of(view), expected, graph.outputs[0].dtype, 16.0)


def archive(body):
    source = f'extern "C" __global__ void f(const float* x, float* y) {{ {body} }}'
    buffers = (Buffer("x", "input", "float32", (32,)), Buffer("y", "output", "float32", (32,)))
    launch = Launch("unit", "f", (Pointer(0), Pointer(1)), (0,), (1,), (1, 1, 1), (32, 1, 1), 0)
    plan = Plan("sm_90a", buffers, (launch,), (0,), (1,), {})
    return Archive({"main": plan}, {"unit": compile_cuda(source, arch="sm_90a").cubin}).to_bytes()


def test_an_illegal_address_is_survived(tmp_path):
    x = np.arange(32, dtype=np.float32)
    problem = Problem((x,), (Expected(None, x * 2.0, "float32"),), 4)
    right = archive("y[threadIdx.x] = 2 * x[threadIdx.x];")
    with Bed("cuda:0", tmp_path / "lock") as bed:
        bed.pose(problem)
        bed.check(0, right)
        with pytest.raises(Refused, match="ILLEGAL_ADDRESS"):
            bed.check(1, archive("*(float*)8 = x[0];"))
        with pytest.raises(Refused, match="31 of 32 elements are wrong"):
            bed.check(2, archive("y[threadIdx.x] = 0;"))
        assert len(bed.time(0, 5)) == 5
    # This process never saw the fault.
    assert array_of(to_device(x, "cuda:0"))[31] == 31
