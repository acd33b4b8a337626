"""Groups of open sizes: a kernel for each range of sizes, between which calls choose."""

import re
from functools import partial
from math import prod

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.choosing.choices import choices, chosen
from hidet.build.choosing.variants import EXTENTS, Levels, variants
from hidet.build.compiled import build_graph
from hidet.build.draft import plan_graph
from hidet.build.reports.explain import explain_fusion
from hidet.cost import seconds
from hidet.fusion.group import Group
from hidet.graph import evaluate
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Var
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear
from hidet.ops.windows.conv import Conv
from hidet.options import OPTIONS, options
from hidet.runtime.binding.footprint import bound_at
from hidet.runtime.plans.variants import at_call, holds
from hidet.schedules.base import Choice
from hidet.schedules.typical import called
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.types import f16, i32

GPU = Target.parse("sm_90a")
B, S = (Var(name, i32) for name in "bs")
AROUND = ((1, 1), (1, 1))
LAYER = Linear(f16[B, S, 3072], f16[768, 3072], f16[768])
IMAGES = Conv(f16[B, 28, 28, 128], f16[128, 3, 3, 128], None, (1, 1), AROUND, (1, 1), 1, True)
TEXT = Attention(*(f16[1, 12, S, 64],) * 3, None, False, 0.1)
TEXTS = Attention(*(f16[B, 12, S, 64],) * 3, None, False, 0.1)
INNER = 1024


def group_of(op, **facts):
    """A group of one operator."""
    node = Node(op, tuple(map(Tensor, op.types())))
    return Group([node], node, **facts)


def names(op):
    """The symbols of an operator's sizes."""
    return [each.name for each in Levels(group_of(op), GPU).symbols]


def at(found, sizes):
    """The group that calls of these sizes run: there is exactly one."""
    (one,) = (each.group for each in found if all(holds(e, sizes) for e in each.when))
    return one


def taken(group, call):
    """What the cost model expects of a group's candidate in a call."""
    return seconds(chosen(group, GPU).point.work(call, GPU), GPU)


@pytest.mark.parametrize("op", [LAYER, IMAGES, TEXT], ids=str)
def test_calls_have_a_schedule_that_is_nearly_the_best_for_them(op):
    found, ratios, before = variants(group_of(op), GPU), [], []
    assert 1 < len(found) <= OPTIONS["variants"].default
    for extent in EXTENTS[:11]:
        size = round(extent ** (1 / len(names(op))))
        call = called(op, size)
        best = min(seconds(e.point.work(call, GPU), GPU) for e in choices(op, GPU, (size,)))
        ratios.append(taken(at(found, dict.fromkeys(names(op), size)), call) / best)
        before.append(taken(group_of(op), call) / best)
    assert prod(ratios) ** (1 / 11) < 1.05
    assert max(ratios) < 1.33
    assert prod(before) > prod(ratios)


@pytest.mark.parametrize("op", [LAYER, IMAGES, TEXT], ids=str)
def test_every_call_has_one_variant(op):
    found = variants(group_of(op), GPU)
    for first in (*range(600), 10**6):
        at(found, dict.fromkeys(names(op), 1) | {names(op)[0]: first})


@pytest.mark.parametrize("most", [1, 2, 3])
def test_there_are_no_more_than_the_option_says(most):
    with options(variants=most):
        assert len(variants(group_of(LAYER), GPU)) == most


@pytest.mark.parametrize(
    ("group", "target"),
    [
        (group_of(LAYER), Target.parse("cpu+avx2")),
        (group_of(called(LAYER, 64)), GPU),
        (group_of(LAYER, choice=Choice("matmul_wgmma", None)), GPU),
        (group_of(TEXTS), GPU),  # how long texts are and how many there are count apart
    ],
    ids=["cpu", "known sizes", "as was measured", "two sizes that count apart"],
)
def test_one_way_is_kept_as_it_was(group, target):
    (one,) = variants(group, target)
    assert one.group is group
    assert one.when == ()


@pytest.mark.parametrize("size", [16, 1, 256, 4096])
def test_one_kernel_for_all_sizes_is_chosen_at_all_extents(size):
    """What reads so large a weight waits for it where rows are few, whatever the tile."""
    op = Linear(f16[1, S, 8192], f16[152064, 8192], None)
    (one,) = variants(group_of(op), GPU)
    assert one.when == ()
    best = min(each.seconds for each in choices(op, GPU, (size,)))
    assert taken(one.group, called(op, size)) < 1.1 * best


def layer(*rows):
    """A layer whose sums blocks share where rows are few, under a relu."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((64, INNER)) / 8
    x = hidet.symbol((*rows, INNER), "float16")
    y = ops.linear(x, hidet.asarray(weight.astype(np.float16)))
    return hidet.trace_from([ops.relu(y)], [x])


@pytest.fixture
def compiled():
    """The layer, compiled for the simulator, by a cluster's blocks or by one."""
    with options(target="sim", variants=2):
        return build_graph(layer("b"))


def border(plan):
    """The least size at which the second of two launches runs."""
    first, second = plan.steps
    (least,), (most,) = second.when, first.when
    assert (least.right, most.left) == ("b", "b")
    assert least.left == most.right + 1
    return least.left


def test_calls_around_borders_are_right(compiled):
    middle = border(compiled.plan)
    random = np.random.default_rng(1)
    for size in (middle - 1, middle, 0):
        given = random.standard_normal((size, INNER)).astype(np.float16)
        (found,) = compiled.run([hidet.asarray(given)])
        if size == 0:
            assert found.numpy().size == 0
        else:
            (wanted,) = evaluate(layer("b"), given)
            assert_close(found.numpy(), wanted, f16, 64.0)


def test_every_variant_is_right_at_any_size(compiled, monkeypatch):
    """So that a border only says what is fast."""
    for name, taken_for in (("few", 1), ("many", 10**6)):
        chosen_of = partial(at_call, sizes={"b": taken_for})
        chooser = "hidet.runtime.binding.bound.at_call"
        monkeypatch.setattr(chooser, lambda steps, _, of=chosen_of: of(steps))
        for size in (1, 2, 7, 129):
            size += name == "many"  # what was bound is kept by its sizes
            given = np.random.default_rng(size).standard_normal((size, INNER)).astype(np.float16)
            (found,) = compiled.run([hidet.asarray(given)])
            (wanted,) = evaluate(layer("b"), given)
            assert_close(found.numpy(), wanted, f16, 64.0)


def test_a_call_binds_the_launch_of_its_range_alone(compiled):
    middle = border(compiled.plan)
    first, second = compiled.plan.steps
    for size, step in ((middle - 1, first), (middle, second)):
        (found,) = bound_at(compiled.plan, {"b": size}).steps
        assert found.function == step.function


def test_variants_are_saved_and_read_back(compiled, tmp_path):
    compiled.save(tmp_path / "layer.hidet")
    found = hidet.load(tmp_path / "layer.hidet")
    assert [each.when for each in found.plan.steps] == [e.when for e in compiled.plan.steps]


def test_explain_tells_the_ranges():
    with options(variants=2):
        text = explain_fusion(layer("b", "s"), "sm_90a")
    ends = re.search(r"    where \(b \* s\) <= (\d+): schedule \w+ on tensor cores, ", text)
    assert ends is not None
    after = f"    where {int(ends[1]) + 1} <= (b * s): schedule matmul_wgmma on tensor cores, "
    assert after in text
    with options(variants=1):
        assert "where" not in explain_fusion(layer("b", "s"), "sm_90a")


def test_memory_is_that_of_the_range_alone():
    """Where rows are few a variant has sums of its own in memory, others have none."""
    plan = plan_graph(layer("b"), "sm_80")["main"]
    shared = [each for each in plan.steps if len(each.when) == 1 and each.when[0].right != "b"]
    least = min(each.when[0].right for each in shared)
    assert bound_at(plan, {"b": least}).arena.nbytes > 0
    assert bound_at(plan, {"b": 1 << 14}).arena.nbytes == 0
