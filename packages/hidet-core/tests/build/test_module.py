"""Script modules as functions of tensors: what they compute, and what they refuse."""

import numpy as np
import pytest

import hidet
from hidet.build.module import build_module
from hidet.errors import BadArgument, DtypeMismatch, NoDevice, ShapeMismatch
from hidet.ir.expr import Var
from hidet.lang import attr, f32
from hidet.lang.cuda import threadIdx
from hidet.runtime.devices.device import device_count
from hidet.types import i32


def values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def axpy():
    n = Var("n", i32)
    with hidet.script_module() as module:

        @hidet.script
        def axpy(s: f32, x: f32[n], y: f32[n]):
            attr.func_kind = "cpu_kernel"
            for i in range(n):
                y[i] = s * x[i] + y[i]

    return module.ir_module()


def two_steps():
    """y = (2 x)², through a workspace."""
    n = Var("n", i32)
    with hidet.script_module("two_steps") as module:

        @hidet.script
        def double(x: f32[n], t: f32[n]):
            attr.func_kind = "cpu_kernel"
            for i in range(n):
                t[i] = 2.0 * x[i]

        @hidet.script
        def square(t: f32[n], y: f32[n]):
            attr.func_kind = "cpu_kernel"
            for i in range(n):
                y[i] = t[i] * t[i]

        x, y = module.params(x=f32[n], y=f32[n])
        between = module.workspace(f32[n])
        module.launch(double, x, between)
        module.launch(square, between, y)
    return module.ir_module()


@pytest.fixture(scope="module")
def compiled():
    return build_module(axpy())


@pytest.mark.parametrize("target", [None, "sim", "cpu"])
def test_numpy_arrays_of_any_size(target):
    function = build_module(axpy(), target)
    for size in (1, 7, 64, 0):
        x, y = values(size), values(size, seed=1)
        expected = np.float32(2.5) * x + y
        function(2.5, x, y)
        np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize("target", [None, "sim"])
def test_kernels_in_order_through_a_workspace(target):
    function = build_module(two_steps(), target)
    for size in (5, 33):
        x, y = values(size), np.empty(size, np.float32)
        function(x, y)
        np.testing.assert_allclose(y, (2 * x) ** 2, rtol=1e-6)


class Exporter:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Torchlike:
    """What a tensor of PyTorch shows of itself."""

    def __init__(self, array, contiguous=True):
        self.array, self.contiguous = array, contiguous
        self.shape, self.dtype = array.shape, f"torch.{array.dtype}"
        self.device = CPU

    def data_ptr(self):
        return self.array.ctypes.data

    def is_contiguous(self):
        return self.contiguous


class Device:
    type, index = "cpu", None


CPU = Device()


class Address:
    """Nothing but an address, an element type and a shape."""

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def data_ptr(self):
        return self.array.ctypes.data


@pytest.mark.parametrize("wrap", [hidet.from_numpy, Exporter, Torchlike, Address])
@pytest.mark.parametrize("target", [None, "sim"])
def test_other_tensors_share_their_memory(wrap, target, compiled):
    function = compiled if target is None else build_module(axpy(), target)
    x, y = values(6), values(6, seed=1)
    expected = 3 * x + y
    function(3, wrap(x), wrap(y))
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_torch_tensors_if_there_are_any(compiled):
    torch = pytest.importorskip("torch")
    x, y = torch.randn(9), torch.randn(9)
    expected = 0.5 * x + y
    compiled(0.5, x, y)
    torch.testing.assert_close(y, expected)
    with pytest.raises(BadArgument, match="x has gaps"):
        compiled(1, torch.randn(18)[::2], y)


REFUSED = {
    "count": (lambda x, y: (1, x), BadArgument, r"axpy takes \(s, x, y\); arguments given: 2"),
    "shape": (lambda x, y: (1, x, y[:3]), ShapeMismatch, "y is f32.n.; the array has shape"),
    "rank": (lambda x, y: (1, x[None], y), ShapeMismatch, r"x is f32.n.; .* has shape \(1, 6\)"),
    "dtype": (lambda x, y: (1, x, y.astype(np.int32)), DtypeMismatch, "y is f32.n.; .* int32"),
    "kind": (lambda x, y: (1, x, "text"), BadArgument, "y is f32.n.; str is no tensor"),
    "number": (lambda x, y: (x, x, y), BadArgument, "s is f32; ndarray does not fit"),
    "gaps": (lambda x, y: (1, values(12)[::2], y), BadArgument, "x has gaps"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_does_not_fit_is_refused_by_name(case, compiled):
    arguments, kind, message = REFUSED[case]
    y = values(6, seed=1)
    before = y.copy()
    with pytest.raises(kind, match=message):
        compiled(*arguments(values(6), y))
    np.testing.assert_array_equal(y, before)


def test_a_read_only_result_is_refused_and_a_read_only_input_is_not(compiled):
    x, y = values(6), values(6, seed=1)
    x.flags.writeable = False
    compiled(1, x, y)
    y.flags.writeable = False
    with pytest.raises(BadArgument, match="axpy writes y, which is read-only"):
        compiled(1, x, y)


class OnGpu(Torchlike):
    def __init__(self, array):
        super().__init__(array)
        self.device = SimpleGpu


class SimpleGpu:
    type, index = "cuda", 0


def test_memory_of_another_device_is_refused(compiled):
    with pytest.raises(BadArgument, match="x is on cuda:0; axpy was compiled for cpu"):
        compiled(1, OnGpu(values(6)), values(6))


def cuda_module():
    with hidet.script_module() as module:

        @hidet.script
        def zero(y: f32[4]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 4
            y[threadIdx.x] = 0.0

    return module.ir_module()


def test_cuda_code_is_compiled_without_a_gpu_where_the_target_is_named():
    function = build_module(cuda_module(), "sm_90a")
    assert [each[:4] for each in function.binaries.values()] == [b"\x7fELF"]
    with pytest.raises(BadArgument, match="y is on cpu; zero was compiled for sm_90a"):
        function(values(4))
    with pytest.raises(BadArgument, match="zero is made of cuda kernels; the target is cpu"):
        build_module(cuda_module(), "cpu")


@pytest.mark.skipif(device_count() > 0, reason="this machine has a GPU")
def test_cuda_kernels_need_a_gpu_or_a_target():
    with pytest.raises(NoDevice, match='target="sim"'):
        build_module(cuda_module())


def test_numbers_have_to_fit_their_type():
    with hidet.script_module() as module:

        @hidet.script
        def put(k: i32, y: hidet.lang.i32[1]):
            attr.func_kind = "cpu_kernel"
            y[0] = k

    put = build_module(module.ir_module())
    y = np.zeros(1, np.int32)
    put(-5, y)
    assert y[0] == -5
    with pytest.raises(BadArgument, match="does not fit into k"):
        put(2**31, y)
    with pytest.raises(DtypeMismatch, match=r"k is i32; 1.5 is no whole number"):
        put(1.5, y)


def test_a_call_takes_little_time(compiled):
    x, y = values(4), values(4)
    milliseconds = hidet.utils.benchmark_func(lambda: compiled(1.0, x, y), number=200)
    assert milliseconds < 0.2


def test_zero_and_minus_zero_are_different_numbers(compiled):
    for scale in (0.0, -0.0, 0.0):
        y = np.full(4, -0.0, np.float32)
        compiled(scale, np.ones(4, np.float32), y)
        assert np.signbit(y).all() == np.signbit(scale)
