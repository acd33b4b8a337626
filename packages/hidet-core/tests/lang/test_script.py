"""Modules of several kernels."""

import numpy as np
import pytest

from hidet.errors import BadScript
from hidet.ir.expr import Var
from hidet.lang import Global, Int, attr, cdiv, f32, i32, script, script_module
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.sim import launch

m = Var("m", i32)


def two_steps():
    with script_module("steps") as module:

        @script
        def double(x: f32[m], y: f32[m]):
            attr.cuda_grid_dim = cdiv(m, 32)
            attr.cuda_block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            y.put(i, x.get(i) * 2)

        @script
        def shift(x: f32[m], y: f32[m], by: f32):
            attr.cuda_grid_dim = cdiv(m, 32)
            attr.cuda_block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            y.put(i, x.get(i) + by)

        source, result = module.params(source=f32[m], result=f32[m])
        between = module.workspace(f32[m], "between")
        module.launch(double, source, between)
        module.launch(shift, between, result, 3)
    return module


def test_launches_are_recorded():
    head = str(two_steps().ir_module()).splitlines()[:4]
    assert head == [
        "module steps(source: f32[m], result: f32[m]):",
        "  workspace between: f32[m]",
        "  launch double(source, between)",
        "  launch shift(between, result, 3.0)",
    ]


def test_launches_run_in_order():
    x, y = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    launch(two_steps().ir_module(), x, y)
    np.testing.assert_array_equal(y, x * 2 + 3)


def kernel_named(name):
    @script
    def kernel(x: f32[8]):
        attr.func_name = name
        attr.cuda_block_dim = 8
        x[threadIdx.x] = 0

    return kernel


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "the module has no kernel"),
        (["a", "a"], "two kernels of the module are called `a`"),
        (["a", "b"], "the module has 2 kernels and does not say how they are launched"),
    ],
)
def test_what_a_module_needs(names, message):
    with script_module() as module:
        for name in names:
            kernel_named(name)
    with pytest.raises(BadScript) as caught:
        module.ir_module()
    assert caught.value.message == message


def test_launches_need_parameters():
    with script_module() as module:
        first, second = kernel_named("first"), kernel_named("second")
        module.launch(first, module.workspace(f32[8]))
        module.launch(second, module.workspace(f32[8]))
    with pytest.raises(BadScript, match="does not say what it is called with"):
        module.ir_module()


def test_launches_are_checked():
    outside = kernel_named("outside")
    with script_module() as module:
        inside = kernel_named("inside")
    with pytest.raises(BadScript, match="`outside` is not a function of this module"):
        module.launch(outside, Var("x", f32[8]))
    with pytest.raises(BadScript, match=r"`inside` takes \(x\); arguments given: 2"):
        module.launch(inside, Var("x", f32[8]), 1)
    with pytest.raises(BadScript, match=r"`x` is f32\[8\], the argument is `x` \(i32\[8\]\)"):
        module.launch(inside, Var("x", i32[8]))


def test_modules_do_not_meet():
    with script_module() as outer:
        kernel_named("a")
        with script_module() as inner:
            kernel_named("b")
        kernel_named("c")
    kernel_named("d")
    assert [f.name for f in outer.functions] == ["a", "c"]
    assert [f.name for f in inner.functions] == ["b"]


def test_a_script_is_printed():
    assert repr(kernel_named("shown")).startswith("cuda kernel shown(x: f32[8]):")


def typed(**types):
    """A kernel whose annotations say kinds; types are given by name."""

    @script(**types)
    def kernel(x: Global, y: Global, by: Int):
        attr.cuda_grid_dim = cdiv(m, 32)
        attr.cuda_block_dim = 32
        i = blockIdx.x * 32 + threadIdx.x
        y.put(i, x.get(i) + by)

    return kernel


def test_types_are_given_by_name():
    x, y = np.arange(7, dtype=np.float32), np.zeros(7, np.float32)
    made = typed(x=f32[m], y=f32[m], by=i32)
    assert [str(each.type) for each in made.kernel.params] == ["f32[m]", "f32[m]", "i32"]
    launch(made.ir_module(), x, y, 3)
    np.testing.assert_array_equal(y, x + 3)


def test_a_kernel_with_given_types_joins_its_module():
    with script_module("alone") as module:
        typed(x=f32[m], y=f32[m], by=i32)
    assert [each.name for each in module.ir_module().kernels] == ["kernel"]


@pytest.mark.parametrize(
    ("types", "message", "help"),
    [
        ({"x": f32[m], "by": i32}, "`y` is a tensor in global memory, of a type that is not given",
         "give it by name, as @script(y=f32[m, n])"),
        ({"x": f32[m], "y": f32, "by": i32},
         "`y` is a tensor in global memory, the type given is f32", ""),
        ({"x": f32[m], "y": f32[m], "by": f32}, "`by` is an integer, the type given is f32", ""),
        ({"x": f32[m], "y": f32[m], "by": i32, "z": i32},
         "a type is given for `z`, which is no parameter", "there are x, y, by"),
        ({"x": f32[m], "y": 3, "by": i32},
         "the type of `y` is 3, not a type of the language",
         "write a type as `f32`, `~f32` or `f32[m, n]`"),
    ],
)  # fmt: skip
def test_types_that_do_not_fit(types, message, help):
    with pytest.raises(BadScript) as raised:
        typed(**types)
    assert raised.value.message == message
    assert (raised.value.help or "") == help
