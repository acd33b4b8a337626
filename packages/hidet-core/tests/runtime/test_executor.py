import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from hidet.errors import BadArchive, BadArgument, NoDevice, ShapeMismatch
from hidet.runtime import Archive, Executor, Plan, View
from hidet.runtime.binding.memory import HostAllocator, array_of, view_of
from hidet.runtime.devices.device import device_count
from hidet.runtime.devices.view import Place
from hidet.runtime.executor import SHAPES_KEPT

from .conftest import buffer, diamond, hosted, joined, launch, weighted


def run(executor, *arrays):
    return [array_of(each) for each in executor([view_of(each) for each in arrays])]


def numbers(count):
    return np.arange(count, dtype=np.float32)


def test_a_plan_computes(archive):
    (y,) = run(Executor(archive), numbers(10))
    assert np.array_equal(y, 4 * numbers(10) + 8)


def test_a_saved_archive_computes(archive, tmp_path):
    archive.save(tmp_path / "model.hidet")
    (y,) = run(Executor(Archive.load(tmp_path / "model.hidet")), numbers(7))
    assert np.array_equal(y, 4 * numbers(7) + 8)


def test_every_shape_has_its_program_and_they_share_one_arena(archive):
    executor = Executor(archive)
    for count in (10, 3, 1000, 10, 0, 1):
        (y,) = run(executor, numbers(count))
        assert np.array_equal(y, 4 * numbers(count) + 8)
    assert len(executor.programs) == 5
    assert executor.scratch.memory.nbytes == 3 * 4096


def test_shapes_that_were_not_used_for_long_are_forgotten(archive):
    executor = Executor(archive)
    for count in range(SHAPES_KEPT + 5):
        run(executor, numbers(count))
    assert len(executor.programs) == SHAPES_KEPT


def test_parts_are_written_where_the_whole_lies(cpp):
    executor = Executor(Archive({"main": joined()}, {"unit": cpp}))
    for count in (5, 1, 0, 300):
        (y,) = run(executor, numbers(count))
        assert np.array_equal(y, [4 * numbers(count), 2 * numbers(count) + 10])


def test_earlier_outputs_stay(archive):
    executor = Executor(archive)
    (first,) = run(executor, numbers(5))
    run(executor, numbers(5) + 100)
    assert np.array_equal(first, 4 * numbers(5) + 8)


def test_threads_may_share_an_executor(archive):
    executor = Executor(archive)
    wrong = []

    def work(seed):
        for iteration in range(50):
            x = np.random.default_rng(seed + iteration).random(100 + iteration % 3, np.float32)
            (y,) = run(executor, x)
            if not np.array_equal(y, (2 * x + 3) + (2 * x + 5)):
                wrong.append((seed, iteration))

    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_constants_are_derived_once(weighted_archive):
    executor = Executor(weighted_archive)
    w = numbers(4)
    assert np.array_equal(run(executor, np.ones(4, np.float32))[0], 1 + 3 * w)


def test_weights_are_used_where_they_lie_and_derived_again_on_demand(weighted_archive):
    w = numbers(4)
    executor = Executor(weighted_archive, weights={"w": view_of(w)})
    derived = executor.constants["derived0"].pointer
    w[:] = 10
    zero = np.zeros(4, np.float32)
    assert np.array_equal(run(executor, zero)[0], 10 + 2 * numbers(4))
    executor.refresh()
    assert executor.constants["derived0"].pointer == derived
    assert np.array_equal(run(executor, zero)[0], np.full(4, 30))


def test_a_weight_of_another_shape_or_type_is_refused(weighted_archive):
    for wrong in (np.zeros(3, np.float32), np.zeros(4)):
        with pytest.raises(BadArchive, match=r"w is .*; the plan expects float32\[4\]"):
            Executor(weighted_archive, weights={"w": view_of(wrong)})


def test_a_weight_without_value_is_named(weighted_archive):
    with pytest.raises(BadArchive, match="there is no value for w"):
        Executor(replace(weighted_archive, weights={}))


def test_the_framework_runs_its_regions(cpp):
    seen = []

    def region(reads, writes):
        (a,), (b,) = map(array_of, reads), map(array_of, writes)
        seen.append(reads[0].shape)
        b[:] = a * a

    archive = Archive({"main": hosted()}, {"unit": cpp})
    executor = Executor(archive, host_steps={"region": region})
    for count in (6, 2):
        assert np.array_equal(run(executor, numbers(count))[0], (2 * numbers(count)) ** 2 + 3)
    assert seen == [(6,), (2,)]


def test_a_region_may_leave_a_result_where_it_made_it(cpp):
    places = []

    def region(reads, writes):
        (place,) = writes
        assert isinstance(place, Place)
        places.append(place.pointer)
        made = array_of(reads[0]) ** 2
        if len(places) % 2:
            place.elsewhere = view_of(made)
        else:
            array_of(place)[:] = made

    executor = Executor(Archive({"main": hosted()}, {"unit": cpp}), host_steps={"region": region})
    for _ in range(4):
        assert np.array_equal(run(executor, numbers(6))[0], (2 * numbers(6)) ** 2 + 3)
    assert len(set(places)) == 1, "the next call has its own place again"


def test_a_missing_region_is_named_before_anything_runs(cpp):
    with pytest.raises(BadArgument, match="leaves region to the framework"):
        Executor(Archive({"main": hosted()}, {"unit": cpp}))


def test_a_failing_region_leaves_a_working_executor(cpp):
    fail = True

    def region(reads, writes):
        if fail:
            raise OSError("no luck")
        array_of(writes[0])[:] = 1

    executor = Executor(Archive({"main": hosted()}, {"unit": cpp}), host_steps={"region": region})
    with pytest.raises(OSError, match="no luck"):
        run(executor, numbers(3))
    fail = False
    assert np.array_equal(run(executor, numbers(3))[0], np.full(3, 4))


def test_outputs_come_from_the_callers_allocator(archive):
    class Counting(HostAllocator):
        made = ()

        def output(self, index, shape, dtype, device):
            self.made = (*self.made, (index, shape, dtype, device))
            return super().output(index, shape, dtype, device)

    allocator = Counting()
    run(Executor(archive, allocator=allocator), numbers(3))
    assert allocator.made == ((0, (3,), "float32", "cpu"),)


def test_inputs_are_checked(archive):
    executor = Executor(archive)
    with pytest.raises(ShapeMismatch, match="2 inputs for a graph of 1"):
        run(executor, numbers(3), numbers(3))
    with pytest.raises(BadArgument, match=r"input x is on cuda:0; the graph runs on cpu\n.*\.to"):
        executor([View(256, (3,), "float32", "cuda:0")])
    assert np.array_equal(run(executor, numbers(3))[0], 4 * numbers(3) + 8)


def test_sizes_of_two_inputs_must_agree(cpp):
    buffers = (buffer("a", "input", "n"), buffer("b", "input", "n"), buffer("y", "output", "n"))
    plan = Plan("cpu", buffers, (launch("add", [0, 1], [2], "n"),), (0, 1), (2,), {"n": (0, 0)})
    executor = Executor(Archive({"main": plan}, {"unit": cpp}))
    assert np.array_equal(run(executor, numbers(3), numbers(3))[0], 2 * numbers(3))
    with pytest.raises(ShapeMismatch, match=r"input b is float32\[4\]"):
        run(executor, numbers(3), numbers(4))


@pytest.mark.parametrize(
    ("target", "device", "message"),
    [
        ("cpu", "cuda:0", "compiled for cpu, not for cuda:0"),
        ("sm_90a", "cpu", "compiled for sm_90a, not for the CPU"),
    ],
)
def test_the_wrong_kind_of_device_is_refused(cpp, target, device, message):
    archive = Archive({"main": diamond(target)}, {"unit": cpp})
    with pytest.raises(BadArchive, match=message):
        Executor(archive, device)


def test_code_for_instructions_that_the_machine_lacks_is_refused(cpp, monkeypatch):
    monkeypatch.setattr("hidet.runtime.executor.host_flags", lambda: frozenset({"avx2"}))
    archive = Archive({"main": diamond("cpu+avx512")}, {"unit": cpp})
    with pytest.raises(BadArchive, match=r"compiled for cpu\+avx512; this CPU has no avx512bw"):
        Executor(archive)


@pytest.mark.parametrize("feature", ["vnni", "bf16"])
def test_features_that_the_machine_lacks_are_named(cpp, monkeypatch, feature):
    flags = frozenset({"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"})
    monkeypatch.setattr("hidet.runtime.executor.host_flags", lambda: flags)
    Executor(Archive({"main": diamond("cpu+avx512")}, {"unit": cpp}))
    archive = Archive({"main": diamond(f"cpu+avx512+{feature}")}, {"unit": cpp})
    with pytest.raises(BadArchive, match=rf"{feature}; this CPU has no avx512_{feature}"):
        Executor(archive)


@pytest.mark.skipif(device_count() > 0, reason="there is a GPU")
def test_without_a_gpu_it_is_said(cubin):
    with pytest.raises(NoDevice):
        Executor(Archive({"main": diamond("sm_90a")}, {"unit": cubin}), "cuda:0")


def test_a_device_that_is_none_is_refused(archive):
    with pytest.raises(BadArgument, match="there is no device 'gpu'"):
        Executor(archive, "gpu")


def test_a_binary_that_is_none_is_refused(archive):
    with pytest.raises(BadArchive, match="binary unit cannot be loaded"):
        Executor(replace(archive, binaries={"unit": b"not really code"}))


def test_a_function_that_is_not_there_is_refused(archive):
    steps = (replace(archive.main.steps[0], function="thrice"), *archive.main.steps[1:])
    broken = replace(archive, plans={"main": replace(archive.main, steps=steps)})
    with pytest.raises(BadArchive, match="no function 'thrice'"):
        run(Executor(broken), numbers(3))


def test_both_plans_must_be_for_the_device(cpp):
    plans = weighted()
    plans["prepare"] = replace(plans["prepare"], target="sm_80")
    with pytest.raises(BadArchive, match="compiled for sm_80"):
        Executor(Archive(plans, {"unit": cpp}, {"w": numbers(4)}))


def test_a_call_costs_microseconds(archive):
    executor = Executor(archive)
    given = [view_of(numbers(8))]
    for _ in range(100):
        executor(given)

    def seconds():
        start = time.perf_counter()
        executor(given)
        return time.perf_counter() - start

    # The best of many: other work on the machine only adds. Four calls of functions are in it.
    assert any(seconds() < 20e-6 + 4 * 2e-6 for _ in range(100_000))
