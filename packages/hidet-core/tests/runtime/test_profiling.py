"""`hidet.profile()`: kernels of all calls in a block, as a table and as files."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import hidet
from hidet import ops, symbol, trace_from
from hidet.errors import BadArgument, Place
from hidet.graph import placed
from hidet.options import options
from hidet.runtime.profiling import profiling
from hidet.runtime.profiling.profile import RECORDER
from hidet.runtime.profiling.table import HEAD

A, B = np.ones((131, 7), np.float32), np.ones((7, 29), np.float32)


def graph(line=5):
    x, y = symbol(("n", 7), name="x"), symbol((7, 29), name="y")
    with placed(Place("model.py", line)):
        product = ops.matmul(x, y)
    with placed(Place("model.py", line + 1)):
        return trace_from(ops.softmax(product, 1), [x, y])


def named(found, name):
    (kernel,) = [each for each in found.kernels if each.operators == (name,) and each.flops]
    return kernel


def test_each_kernel_is_told():
    compiled = graph().build()
    with hidet.profile() as found:
        compiled(A, B)
        compiled(A, B)
    matmul = named(found, "matmul")
    assert matmul.runs == 2
    assert matmul.flops == 2 * 2 * 131 * 7 * 29
    assert matmul.nbytes >= 2 * 4 * (131 * 7 + 131 * 29)
    assert matmul.microseconds > 0
    assert matmul.roofline > 0
    assert matmul.places == ("model.py:5",)
    assert named(found, "softmax").places == ("model.py:6",)
    assert RECORDER.get() is None
    compiled(A, B)
    assert named(found, "matmul").runs == 2  # nothing is noted behind the block


def test_places_are_those_of_the_graph_at_hand_though_its_kernels_were_cached():
    graph(5).build()
    compiled = graph(50).build()
    with hidet.profile() as found:
        compiled(A, B)
    assert named(found, "matmul").places == ("model.py:50",)


def test_a_saved_file_tells_the_same(tmp_path):
    graph().build().save(tmp_path / "g.hidet")
    loaded = hidet.load(tmp_path / "g.hidet", "cpu")
    with hidet.profile() as found:
        loaded(A, B)
    assert named(found, "matmul").schedule
    assert named(found, "matmul").places == ("model.py:5",)


def test_it_prints_as_a_table():
    compiled = graph().build()
    with hidet.profile() as found:
        compiled(A, B)
    head, *rows, last = str(found).splitlines()
    assert head.split() == [*HEAD]
    assert any(re.search(r"\d+%  matmul_\w+ .* model.py:5$", row) for row in rows)
    assert last.endswith(f"runs of {len(rows)} kernels")


def test_files(tmp_path):
    compiled = graph().build()
    with hidet.profile() as found:
        compiled(A, B)
    found.save(tmp_path / "p.json")
    events = json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    assert [each["ph"] for each in events] == ["X"] * len(found.runs)
    assert events[0]["ts"] == 0
    assert all(each["dur"] > 0 for each in events)
    assert "model.py:6" in {each["args"]["where"] for each in events}
    found.save(tmp_path / "p.svg")
    drawn = ElementTree.parse(tmp_path / "p.svg").getroot()
    assert len(drawn.findall("{http://www.w3.org/2000/svg}rect")) == len(found.kernels)
    found.save(tmp_path / "p.txt")
    assert (tmp_path / "p.txt").read_text() == f"{found}\n"
    with pytest.raises(BadArgument, match="cannot be written") as error:
        found.save(tmp_path / "p.png")
    assert ".svg" in error.value.help


def test_nothing_ran():
    with hidet.profile() as found:
        pass
    assert str(found).endswith("0.0 us in 0 runs of 0 kernels")


def test_iterations_of_a_loop_and_what_comes_after_it():
    x = symbol((5,), name="x")
    (y,) = ops.while_loop(lambda v: ops.less(ops.sum(v), 640.0), lambda v: v * 2.0, x)
    compiled = trace_from(ops.softmax(y, 0), [x]).build()
    with hidet.profile() as found:
        compiled(np.ones(5, np.float32))
    assert max(each.runs for each in found.kernels) >= 7
    assert named(found, "softmax").runs == 1


def test_the_simulator_has_no_times():
    with options(target="sim"):
        compiled = graph().build()
        with hidet.profile() as found:
            compiled(A, B)
    assert {each.microseconds for each in found.kernels} == {None}
    assert named(found, "matmul").flops == 2 * 131 * 7 * 29


class Event:
    """An event of a GPU whose clock goes on by a microsecond with each one."""

    now = 0

    def __init__(self, device, timed):
        assert (device, timed) == ("cuda:0", True)

    def record(self, stream):
        assert stream == 7
        Event.now += 1
        self.time = Event.now

    def synchronize(self):
        pass

    def seconds_since(self, start):
        return (self.time - start.time) * 1e-6


def test_on_a_gpu_each_kernel_is_between_two_events(monkeypatch):
    monkeypatch.setattr(profiling, "Event", Event)
    found = profiling.Profiling()
    found.device, found.stream = "cuda:0", 7
    for name in ("one", "two"):
        found.run(name, lambda: None)
    assert [each.start for each in found.runs] == pytest.approx([0.0, 2e-6])
    assert [each.seconds for each in found.runs] == pytest.approx([1e-6, 1e-6])


@pytest.mark.gpu
def test_a_gpu_says_where_its_time_goes():
    x = ops.ones((131, 64), "float32", device="cuda")
    given = symbol((131, 64), "float32", "cuda", name="x")
    compiled = trace_from(ops.softmax(ops.matmul(given, given, transpose_b=True), 1)).build()
    with hidet.profile() as found:
        compiled(x)
    assert all(0 < each.microseconds < 1e5 for each in found.kernels)
    assert named(found, "matmul").flops == 2 * 131 * 131 * 64
