"""Small archives written by hand: a few C++ and CUDA functions and the plans that call them."""

from dataclasses import replace

import numpy as np
import pytest

from hidet.runtime import Archive, Buffer, Host, Launch, Plan, Pointer, Scalar
from hidet.runtime.devices.device import cuda_capability, device_count
from hidet.target import Target
from hidet.toolchain import compile_cpp, compile_cuda

ARCH = str(Target.for_capability(*cuda_capability("cuda:0"))) if device_count() else "sm_90a"

CPP = """
extern "C" void twice(float *x, float *y, long n) {
  for (long i = 0; i < n; i++) y[i] = 2 * x[i];
}
extern "C" void add(float *a, float *b, float *y, long n) {
  for (long i = 0; i < n; i++) y[i] = a[i] + b[i];
}
extern "C" void shift(float *x, float *y, int by, long n) {
  for (long i = 0; i < n; i++) y[i] = x[i] + by;
}
extern "C" void below(float *x, float *y, long n) {
  for (long i = 0; i < n; i++) y[n + i] = x[i] + 5;
}
extern "C" void halve(float *x, float *y) {
  for (long i = 0; i < 7; i++) y[i] = x[i] / 2;
}
"""

CUDA = """
#define I (blockIdx.x * (long)blockDim.x + threadIdx.x)
extern "C" __global__ void twice(float *x, float *y, long n) { if (I < n) y[I] = 2 * x[I]; }
extern "C" __global__ void add(float *a, float *b, float *y, long n) {
  if (I < n) y[I] = a[I] + b[I];
}
extern "C" __global__ void shift(float *x, float *y, int by, long n) {
  if (I < n) y[I] = x[I] + by;
}
extern "C" __global__ void wait(float *x, float *y, long n, long cycles) {
  long start = clock64();
  while (clock64() - start < cycles);
  if (I < n) y[I] = x[I];
}
extern "C" __global__ void late(float *x, float *y, long n) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  long start = clock64();
  while (clock64() - start < 20000 * (blockIdx.x % 3));
  if (I < n) y[I] = x[I] + 1;
}
extern "C" __global__ void reverse(float *x, float *y, long n) {
  extern __shared__ float kept[];
  for (long i = threadIdx.x; i < n; i += blockDim.x) kept[i] = x[i];
  __syncthreads();
  for (long i = threadIdx.x; i < n; i += blockDim.x) y[i] = kept[n - 1 - i];
}
"""


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu") and device_count() == 0:
        pytest.skip("there is no GPU, or no driver")


@pytest.fixture(scope="session")
def cpp():
    return compile_cpp(CPP)


@pytest.fixture(scope="session")
def cubin():
    return compile_cuda(CUDA, arch=ARCH, name="test").cubin


def buffer(name, role, *shape, dtype="float32"):
    return Buffer(name, role, dtype, tuple(shape))


def launch(function, reads, writes, *numbers, grid=(1, 1, 1), **more):
    """A launch whose arguments are what it reads, what it writes, and numbers."""
    args = [Pointer(each) for each in (*reads, *writes)]
    args += [each if isinstance(each, Scalar) else Scalar("int64", each) for each in numbers]
    return Launch("unit", function, tuple(args), tuple(reads), tuple(writes), grid, **more)


def diamond(target="cpu", grid=(1, 1, 1), block=(1, 1, 1)):
    """y = (x * 2 + 3) + (x * 2 + 5): two branches that nothing connects."""
    shape = {"grid": grid, "block": block}
    return Plan(
        target,
        (
            buffer("x", "input", "n"),
            buffer("doubled", "workspace", "n"),
            buffer("left", "workspace", "n"),
            buffer("right", "workspace", "n"),
            buffer("y", "output", "n"),
        ),
        (
            launch("twice", [0], [1], "n", **shape),
            launch("shift", [1], [2], Scalar("int32", 3), "n", **shape),
            launch("shift", [1], [3], Scalar("int32", 5), "n", **shape),
            launch("add", [2, 3], [4], "n", **shape),
        ),
        (0,),
        (4,),
        {"n": (0, 0)},
    )


def weighted(target="cpu", grid=(1, 1, 1), block=(1, 1, 1)):
    """y = x + w + derived, where the prepare plan derives 2 * w."""
    shape = {"grid": grid, "block": block}
    prepare = Plan(
        target,
        (buffer("w", "weight", 4), buffer("output0", "output", 4)),
        (launch("twice", [0], [1], 4, **shape),),
        (),
        (1,),
    )
    main = Plan(
        target,
        (
            buffer("x", "input", 4),
            buffer("w", "weight", 4),
            buffer("derived0", "derived", 4),
            buffer("t", "workspace", 4),
            buffer("y", "output", 4),
        ),
        (launch("add", [0, 1], [3], 4, **shape), launch("add", [3, 2], [4], 4, **shape)),
        (0,),
        (4,),
    )
    return {"main": main, "prepare": prepare}


def joined(target="cpu", grid=(1, 1, 1), block=(1, 1, 1)):
    """The rows 2 * x and x + 5 in one tensor, then twice that."""
    shape = {"grid": grid, "block": block}
    return Plan(
        target,
        (
            buffer("x", "input", "n"),
            buffer("both", "workspace", 2, "n"),
            replace(buffer("top", "part", 1, "n"), within=1),
            replace(buffer("bottom", "part", 1, "n"), within=1),
            buffer("y", "output", 2, "n"),
        ),
        (
            launch("twice", [0], [2], "n", **shape),
            launch("below", [0], [3], "n", **shape),
            launch("twice", [1], [4], ["*", 2, "n"], **shape),
        ),
        (0,),
        (4,),
        {"n": (0, 0)},
    )


def hosted(target="cpu", grid=(1, 1, 1), block=(1, 1, 1)):
    """y = region(2 * x) + 3, where the framework runs the region."""
    shape = {"grid": grid, "block": block}
    return Plan(
        target,
        (
            buffer("x", "input", "n"),
            buffer("a", "workspace", "n"),
            buffer("b", "workspace", "n"),
            buffer("y", "output", "n"),
        ),
        (
            launch("twice", [0], [1], "n", **shape),
            Host("region", (1,), (2,)),
            launch("shift", [2], [3], Scalar("int32", 3), "n", **shape),
        ),
        (0,),
        (3,),
        {"n": (0, 0)},
    )


@pytest.fixture
def archive(cpp):
    return Archive({"main": diamond()}, {"unit": cpp}, {}, {"made": "by hand"})


@pytest.fixture
def weighted_archive(cpp):
    return Archive(weighted(), {"unit": cpp}, {"w": np.arange(4, dtype=np.float32)})
