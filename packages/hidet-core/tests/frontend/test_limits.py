"""What files may ask for."""

import pytest

from hidet import ops, symbol, trace_from
from hidet.errors import BadArgument
from hidet.frontend.importing.limits import Limits
from hidet.graph import tracing
from hidet.ir.expr import Var
from hidet.types import i32

N = Var("n", i32)
FEW = Limits(constant_bytes=1000)


@pytest.mark.parametrize("shape", [(), (0,), (3, N), (2**31 - 1, 256), (N * 4 + 2**30,)])
def test_shapes_that_are_accepted(shape):
    Limits().require_shape(shape)


@pytest.mark.parametrize(
    "shape", [(2**31,), (0, 2**62), (2**30, 2**30), (N * 2**31,), (N * 2**30, 2**30)]
)
def test_shapes_that_are_refused(shape):
    with pytest.raises(BadArgument, match="the model asks for"):
        Limits().require_shape(shape)


def test_a_limit_says_which_option_raises_it():
    with pytest.raises(BadArgument, match=r"7 nodes.*at most 6") as raised:
        Limits(nodes=6).require("nodes", 7)
    assert raised.value.help == "options={'import_nodes': 7} accepts it, if the file is trusted"


def test_constants_that_inputs_are_added_to_are_counted():
    x = symbol((251,), "float32", "cpu")
    with tracing():
        exps = ops.exp(ops.iota(251, dtype="float32", device="cpu"))
        graph = trace_from(ops.add(x, exps), [x])
    with pytest.raises(BadArgument, match="1004 bytes of constants"):
        FEW.require_constants(graph)
    Limits(constant_bytes=1004).require_constants(graph)


def test_what_is_computed_from_inputs_is_not_counted():
    x = symbol((251, 4), "float32", "cpu")
    FEW.require_constants(trace_from(ops.exp(x), [x]))
