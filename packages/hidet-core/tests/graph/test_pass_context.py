"""PassContext: every method has an effect on what is optimised or compiled in its block."""

import re

import numpy as np
import pytest

import hidet
from hidet import ops, options
from hidet.errors import BadArgument
from hidet.graph import PassContext, from_numpy, optimize, symbol, trace_from
from hidet.graph.pass_context import DROPPED
from hidet.ops.products.matmul import Linear
from hidet.optimize import PASSES
from hidet.schedules import load
from hidet.schedules.base import candidates
from hidet.target import Target
from hidet.types import f16, f32

TARGET = Target.parse("sm_90a")


def graph_of():
    x = symbol((4, 16))
    w = from_numpy(np.ones((16, 8), np.float32))
    return trace_from([ops.relu(ops.matmul(x, w))], [x])


def schedules(op):
    return {each.schedule.name for each in candidates(op, TARGET)}


def test_precision_holds_in_the_block_only():
    with PassContext() as context:
        assert "float16" not in optimize(graph_of()).show()
        context.set_precision("float16")
        assert "float16" in optimize(graph_of()).show()
        context.set_precision("bfloat16")
        assert "bfloat16" in optimize(graph_of()).show()
        context.set_precision(None)
        assert "float16" not in optimize(graph_of()).show()
        context.set_precision("float16")
    assert "float16" not in optimize(graph_of()).show()
    assert options.precision.get() == ""


def test_what_is_set_before_the_block_holds_in_it():
    context = PassContext().set_precision("float16").set_reduce_precision("float16")
    assert options.precision.get() == ""
    with context:
        assert options.precision.get() == "float16"
        assert options.fp16_reduction.get()
        context.set_reduce_precision(None)
        assert not options.fp16_reduction.get()
    assert not options.fp16_reduction.get()


def test_a_context_is_in_force_once():
    with PassContext() as context:  # noqa: SIM117
        with pytest.raises(BadArgument, match="in force already"), context:
            pass
    with context:
        pass


def test_units_and_shares_of_products():
    half, single = (
        Linear(f16[64, 4096], f16[64, 4096], None),
        Linear(f32[64, 64], f32[64, 64], None),
    )
    with PassContext() as context:
        assert schedules(half) == {"matmul_mma", "matmul_stages", "matmul_wgmma"}
        assert schedules(single) == {"matmul_simt", "matmul_single", "matmul_wgmma_single"}
        context.allow_tf32()
        assert schedules(single) == {"matmul_simt", "matmul_tf32"}
        context.set_mma("simt")
        assert schedules(half) == schedules(single) == {"matmul_simt"}
        context.set_mma("mma").set_parallel_k(nparts=2)
        assert {each.point.slices for each in candidates(half, TARGET)} == {2}
        context.set_parallel_k(disabled=True)
        assert {each.point.slices for each in candidates(half, TARGET)} == {1}
    assert load.LOADED


def test_attention_is_found_where_it_is_used():
    q, k, v = (symbol((1, 2, 5, 8)) for _ in range(3))
    weights = ops.softmax(ops.matmul(q, k, transpose_b=True) * 0.5, -1)
    graph = trace_from([ops.matmul(weights, v)], [q, k, v])
    names = lambda: [node.op.name for node in optimize(graph).nodes]
    with PassContext() as context:
        assert "attention_weights" in names()  # attention, where no kernel computes it whole
        context.set_use_attention(False)
        assert "attention_weights" not in names()
        assert "softmax" in names()
        context.set_use_attention()
        assert "softmax" not in names()


def test_passes_are_told_of(capsys, tmp_path):
    with PassContext() as context:
        context.set_verbose()
        optimize(graph_of())
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == [each.__name__ for each in PASSES]
    assert all(re.search(r"\d -> \d operators, \d+\.\d+ ms$", line) for line in lines)
    optimize(graph_of())
    assert capsys.readouterr().out == ""


def test_times_go_to_a_file(capsys, tmp_path):
    log = tmp_path / "passes.txt"
    with PassContext().profile_pass_instrument(log):
        optimize(graph_of())
        optimize(graph_of())
    assert len(log.read_text().splitlines()) == 2 * len(PASSES)
    assert capsys.readouterr().out == ""


def test_graphs_are_saved_after_each_pass(tmp_path):
    graph = graph_of()
    with PassContext().save_graph_instrument(tmp_path / "out").set_precision("float16"):
        optimize(graph)
        graph.build("cpu+avx2")
        graph.build("cpu+avx2")  # from a cache nothing would be seen
    first, second, third = sorted((tmp_path / "out").iterdir())
    names = [path.name for path in sorted(first.iterdir())]
    assert names[0] == "00-input.txt"
    (lowered,) = first.glob("*-lower_precision.txt")
    assert len(names) == len(PASSES) + 1
    assert "float16" not in (first / "00-input.txt").read_text()
    assert "float16" in lowered.read_text()
    assert (second.name, third.name) == ("graph-1", "graph-2")


def test_bad_values_are_refused():
    context = PassContext()
    for call, message in (
        (lambda: context.set_precision("float8"), "precision is 'float8'"),
        (lambda: context.set_reduce_precision("bfloat16"), "cannot be summed"),
        (lambda: context.set_mma("wmma"), "no schedule uses wmma"),
        (lambda: context.set_mma("cublas"), "mma is 'cublas'"),
        (lambda: context.set_parallel_k(), "give one of"),
        (lambda: context.set_parallel_k(default=True, nparts=3), "give one of"),
        (lambda: context.profile_pass_instrument(), "where times go"),
    ):
        with pytest.raises(BadArgument, match=message):
            call()
    assert hidet.graph.PassContext is PassContext


def test_what_is_not_there_has_a_reason():
    for name, reason in DROPPED.items():
        assert not hasattr(PassContext, name)
        assert len(reason) > 10
