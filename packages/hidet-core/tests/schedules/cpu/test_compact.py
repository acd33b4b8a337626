"""The places where a mask holds, on the CPU: blocks that hold everywhere, nowhere and in parts."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.graph import evaluate, refer, symbol, trace_from
from hidet.ops.indexing.compact import Compact
from hidet.schedules.base import candidates
from hidet.schedules.cpu.compact import BLOCK, PIECE, Pieces, compacted
from hidet.target import Target
from hidet.types import boolean

TARGET = Target.parse("cpu+avx512")
SIZES = (1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 1031, PIECE, PIECE + 1, 2 * PIECE + 77)
SHARES = (0.0, 0.02, 0.5, 0.98, 1.0)


def masks(size):
    """Some that hold here and there, and one with a long run of each."""
    random = np.random.default_rng(size)
    found = [random.random(size) < share for share in SHARES]
    return [*found, np.arange(size) * 3 // (size + 1) != 1]


CASES = [(Compact(boolean[n], int(mask.sum())), mask) for n in SIZES for mask in masks(n)]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([compacted(op, TARGET, Pieces()).module for op, _ in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_places_are_those_of_numpy(library, number):
    op, mask = CASES[number]
    # What lies behind the result stays as it is.
    held = np.full(op.count + 3, 77, np.int32)
    library(number, mask, held[: op.count])
    np.testing.assert_array_equal(held[: op.count], np.flatnonzero(mask))
    assert (held[op.count :] == 77).all()


@pytest.mark.parametrize("number", [n for n, (_, m) in enumerate(CASES) if m.size in (1, 65, 1031)])
def test_simulated(number):
    op, mask = CASES[number]
    found = np.full(op.count, 77, np.int32)
    sim.launch(compacted(op, TARGET, Pieces()).module, mask, found)
    np.testing.assert_array_equal(found, refer(op, [mask])[0])


def test_every_mask_but_an_empty_one_is_compacted_so():
    for op, _ in CASES:
        assert [each.schedule.name for each in candidates(op, TARGET)] == ["compacted"]


def test_masks_of_any_size_and_what_follows_fused():
    x = symbol(("n",), name="x")
    graph = trace_from([ops.masked_select(x * 2.0, ops.greater(x, 0.0))], [x])
    compiled = graph.build()
    for n in (0, 1, 63, 64, 200, PIECE + 65):
        value = np.random.default_rng(n).normal(size=n).astype(np.float32)
        np.testing.assert_array_equal(compiled(value).numpy(), 2 * value[value > 0])
        (wanted,) = evaluate(graph, value)
        np.testing.assert_array_equal(compiled(value).numpy(), wanted)
