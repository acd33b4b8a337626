"""Launches that read constants alone leave the main plan, and nothing else does."""

from dataclasses import replace

import numpy as np
import pytest

import hidet
from hidet.build.compile import compile_graph
from hidet.build.planning.hoist import MADE_BYTES, hoist
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.runtime.plans.plan import Buffer, Host, Launch, Plan, Pointer
from hidet.runtime.plans.plan_reader import read_plan

W, D, X, T, Y = "weight", "derived", "input", "workspace", "output"


def buffer(name, role, shape=(4,)):
    return Buffer(name, role, "float32", shape)


def launch(name, reads, writes):
    return Launch("", name, tuple(map(Pointer, (*reads, *writes))), tuple(reads), tuple(writes))


def plan(buffers, steps):
    of = lambda role: tuple(i for i, each in enumerate(buffers) if each.role == role)
    return Plan("cpu", tuple(buffers), tuple(steps), of(X), of(Y))


def names(of):
    return [getattr(step, "function", "host") for step in of.steps]


def packed():
    """y = use(x, pack(w)), where w is read by nothing else."""
    buffers = [buffer("input0", X), buffer("weight0", W), buffer("t2", T, (8,)), buffer("o", Y)]
    return plan(buffers, [launch("pack", [1], [2]), launch("use", [0, 2], [3])])


def test_what_reads_weights_alone_is_prepared():
    plans = hoist({"main": packed()})
    main, prepare = plans["main"], plans["prepare"]
    assert (names(main), names(prepare)) == (["use"], ["pack"])
    assert [(b.name, b.role) for b in main.buffers] == [("input0", X), ("derived0", D), ("o", Y)]
    assert [(b.name, b.role) for b in prepare.buffers] == [("weight0", W), ("output0", Y)]
    assert (prepare.outputs, main.inputs, main.outputs) == ((1,), (0,), (2,))
    assert main.steps[0].args == tuple(map(Pointer, (0, 1, 2)))
    for each in plans.values():
        assert read_plan(each.to_json()) == each


def test_what_was_derived_before_stays_in_the_prepare_plan_if_only_it_is_read():
    before = plan([buffer("weight0", W), buffer("output0", Y)], [launch("fold", [0], [1])])
    main = packed()
    buffers = (main.buffers[0], buffer("derived0", D), *main.buffers[2:])
    plans = hoist({"main": replace(main, buffers=buffers), "prepare": before})
    prepare = plans["prepare"]
    assert names(prepare) == ["fold", "pack"]
    assert [b.role for b in prepare.buffers] == [W, T, Y]
    assert prepare.outputs == (2,)
    assert plans["main"].buffers[1].name == "derived0"


def test_steps_one_after_the_other_go_together():
    buffers = [buffer("input0", X), buffer("weight0", W), *(buffer(f"t{i}", T) for i in (2, 3))]
    steps = [launch("a", [1], [2]), launch("b", [1, 2], [3]), launch("use", [0, 3], [4])]
    plans = hoist({"main": plan([*buffers, buffer("o", Y)], steps)})
    assert (names(plans["main"]), names(plans["prepare"])) == (["use"], ["a", "b"])
    assert [b.role for b in plans["prepare"].buffers] == [W, T, Y]


def test_equal_packings_are_one_unless_what_they_write_has_another_type():
    tensors = [
        buffer("input0", X),
        buffer("weight0", W),
        *(buffer(f"t{n}", T, (8,)) for n in (2, 3)),
    ]
    tensors += [buffer("t4", T, (2, 4)), buffer("o", Y)]
    steps = [*(launch("pack", [1], [n]) for n in (2, 3, 4)), launch("use", [0, 2, 3, 4], [5])]
    plans = hoist({"main": plan(tensors, steps)})
    main, prepare = plans["main"], plans["prepare"]
    assert names(prepare) == ["pack", "pack"]
    assert [prepare.buffers[n].shape for n in prepare.outputs] == [(8,), (2, 4)]
    assert [main.buffers[n].name for n in main.steps[0].reads[1:]] == [
        *("derived0", "derived0", "derived1")
    ]


def test_parts_stay_and_keep_their_whole():
    part = lambda name: replace(buffer(name, "part"), within=4)
    buffers = [
        *(buffer("input0", X), buffer("weight0", W), buffer("t", T), part("p3")),
        *(buffer("whole", T, (8,)), part("p5"), buffer("o", Y)),
    ]
    steps = [
        *(launch("pack", [1], [2]), launch("a", [0, 2], [3])),
        *(launch("b", [1], [5]), launch("use", [4], [6])),
    ]
    main = hoist({"main": plan(buffers, steps)})["main"]
    assert names(main) == ["a", "b", "use"]
    assert {b.name: main.buffers[b.within].name for b in main.buffers if b.role == "part"} == {
        "p3": "whole",
        "p5": "whole",
    }
    assert read_plan(main.to_json()) == main


def keep(change):
    """The plan of `packed`, changed so that all of it stays where it is."""
    main = packed()
    pack, use = main.steps
    match change:
        case "an input is read":
            return replace(main, steps=(launch("pack", [0, 1], [2]), use))
        case "an output is written":
            return replace(main, steps=(launch("pack", [1], [3]),))
        case "written twice":
            return replace(main, steps=(pack, use, launch("again", [0], [2])))
        case "the weight is written":
            return replace(main, steps=(pack, use, launch("update", [0], [1])))
        case "the framework does it":
            return replace(main, steps=(Host("pack", (1,), (2,)), use))
        case "a size of the call":
            sized = replace(main.buffers[2], shape=("n",))
            return replace(main, buffers=(*main.buffers[:2], sized, main.buffers[3]))
        case "made from nothing and large":
            large = replace(main.buffers[2], shape=(MADE_BYTES,))
            buffers = (*main.buffers[:2], large, main.buffers[3])
            return replace(main, buffers=buffers, steps=(launch("fill", [], [2]), use))


@pytest.mark.parametrize(
    "change",
    ["an input is read", "an output is written", "written twice", "the weight is written",
     "the framework does it", "a size of the call", "made from nothing and large"],
)  # fmt: skip
def test_everything_else_stays(change):
    main = keep(change)
    assert hoist({"main": main}) == {"main": main}


@pytest.mark.parametrize("target", ["cpu", "cpu+avx2"])
def test_a_product_packs_its_weight_once(target):
    random = np.random.default_rng(0)
    w, v = (random.standard_normal(shape).astype(np.float32) for shape in ((33, 17), (7, 33)))
    x = hidet.symbol((19, 17), "float32", device="cpu")
    y = hidet.ops.linear(hidet.ops.relu(hidet.ops.linear(x, hidet.asarray(w))), hidet.asarray(v))
    compiled = compile_graph(hidet.trace_from(y, [x]), target)
    plans = compiled.archive.plans
    assert len(plans["prepare"].steps) == 2
    assert len(plans["main"].steps) == 2
    assert not plans["main"].of_role("weight")
    weights = {name: view_of(tensor.storage) for name, tensor in compiled.weights.items()}
    executor = Executor(compiled.archive, weights=weights)
    given = random.standard_normal((19, 17)).astype(np.float32)
    for _ in range(2):
        (found,) = executor([view_of(given)])
        np.testing.assert_allclose(array_of(found), np.maximum(given @ w.T, 0) @ v.T, atol=1e-4)
        w *= 2  # weights are used where they lie, and packed anew when asked
        executor.refresh()
