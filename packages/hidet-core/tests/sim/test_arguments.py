"""What callers get wrong, named."""

import numpy as np
import pytest

from hidet.build.module import build_module
from hidet.driver import build_ir_module
from hidet.errors import BadArgument, BadKernel, BadScript, DtypeMismatch, Place, ShapeMismatch
from hidet.ir.expr import Var
from hidet.ir.node import node
from hidet.ir.stmt import Stmt
from hidet.lang import attr, f32, i32, script
from hidet.lang.cuda import threadIdx
from hidet.options import options
from hidet.sim import StepLimit, launch

n = Var("n", i32)


@script
def scale(x: f32[n, 4], factor: f32, y: f32[n, 4]):
    attr.cuda_block_dim = 4
    for i in range(n):
        y[i, threadIdx.x] = x[i, threadIdx.x] * factor


def arrays():
    return np.ones((3, 4), np.float32), 2.0, np.zeros((3, 4), np.float32)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (
            lambda x, f, y: (x, f),
            BadArgument,
            r"parameter y of \(x, factor, y\) is missing; arguments given: 2",
        ),
        (
            lambda x, f, y: (x, f, y, 1),
            BadArgument,
            r"it takes \(x, factor, y\); arguments given: 4",
        ),
        (lambda x, f, y: (x.astype(np.float64), f, y), DtypeMismatch, "x is .*holds float64"),
        (lambda x, f, y: (x, f, y[:2]), ShapeMismatch, r"y is .* has shape \(2, 4\)"),
        (lambda x, f, y: (x[0], f, y), ShapeMismatch, r"x is .* has shape \(4,\)"),
        (lambda x, f, y: (x.tolist(), f, y), BadArgument, "pass an array or a tensor, not list"),
        (lambda x, f, y: (x, x, y), BadArgument, "factor is f32; ndarray does not fit"),
        (lambda x, f, y: (x, "2", y), BadArgument, "factor is f32; str does not fit"),
        (lambda x, f, y: (x, None, y), BadArgument, "factor is f32; NoneType does not fit"),
    ],
)
def test_wrong_arguments(change, kind, message):
    with pytest.raises(kind, match=message):
        launch(scale, *change(*arrays()))


def test_a_number_that_is_no_integer():
    @script
    def count(n: i32, y: i32[1]):
        attr.cuda_block_dim = 1
        y[0] = n

    with pytest.raises(BadArgument, match=r"2\.5 does not fit into n, which is i32"):
        launch(count, 2.5, np.zeros(1, np.int32))


def test_what_is_nothing_to_launch():
    with pytest.raises(BadArgument, match="function is nothing to launch"):
        launch(lambda x: x, 1)


@pytest.mark.parametrize("target", ["sim", "sim+sm_80"])
def test_built_for_the_simulator(target):
    for function in (build_ir_module(scale.ir_module(), target=target),):
        x, factor, y = arrays()
        function(x, factor, y)
        assert (y == 2).all()
        assert function.report.executed["store global"] == 12
        x.flags.writeable = False
        function(x, factor, y)
    with options(target=target):
        function = build_module(scale.ir_module())
    function(*arrays())
    with pytest.raises(BadArgument, match="arguments given: 2"):
        function(*arrays()[:2])


def endless(kind):
    @script
    def kernel(y: i32[1]):
        attr.cuda_block_dim = 32
        if kind == "while":
            i = threadIdx.x
            while i >= 0:
                i = i * 1
        else:
            for i in range(1 << 20):
                for j in range(1 << 20):
                    if threadIdx.x == 40:
                        y[0] = i + j

    return kernel


@pytest.mark.parametrize(("kind", "line"), [("while", 4), ("for", 8)])
def test_a_kernel_that_never_ends_stops_in_its_loop(kind, line):
    kernel = endless(kind)
    with pytest.raises(StepLimit, match="more than 2000 iterations of loops") as caught:
        launch(kernel, np.zeros(1, np.int32), step_limit=2000)
    assert caught.value.place.line == kernel.kernel.place.line + line
    assert "step_limit" in caught.value.help


def test_what_the_language_has_not_is_named_with_its_line():
    def kernel(y: i32[1]):
        attr.cuda_block_dim = 32
        with y:
            pass

    with pytest.raises(BadScript, match="a script has no `with`") as caught:
        script(kernel)
    assert caught.value.place.line == kernel.__code__.co_firstlineno + 2


def test_what_the_simulator_has_not_is_named_with_its_line():
    @node
    class Strange(Stmt):
        place: Place | None = scale.kernel.place

    with pytest.raises(BadKernel, match="the simulator does not know Strange") as caught:
        launch(type(scale.kernel)("k", (), (Strange(),), launch=scale.kernel.launch))
    assert caught.value.place == scale.kernel.place
