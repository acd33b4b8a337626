"""What a kernel that began early sees of memory that the one before has read, and written over.

The blocks of both lie on all multiprocessors together. The first fills every cache with what is
there once the next has begun everywhere; then each block writes a share. Caches see no stores of
other multiprocessors: without `griddepcontrol.wait` the next would find what was there.
"""

import numpy as np
import pytest

from hidet.runtime import Archive, Executor, Plan
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.devices.device import attribute, cuda_capability, device_count
from hidet.runtime.plans.occupancy import OccupancyLimit
from hidet.toolchain import compile_cuda

from .conftest import ARCH, buffer, launch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        device_count() == 0 or cuda_capability("cuda:0") < (9, 0),
        reason="launches that begin early came with sm_90",
    ),
]
THREADS = 768
"""Two such blocks on a multiprocessor, and no third."""
COUNT = 2048
"""Numbers, so few that a cache keeps them."""
KERNELS = """
#define EACH(i) for (long i = threadIdx.x; i < n; i += blockDim.x)
__device__ void arrive(int *counter) {
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ void reach(int *counter, int count) {
  for (int iteration = 0, seen = 0; seen < count && iteration < 20000; iteration++)
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
}
__device__ void meet(int *counter, bool comes, int count) {
  __syncthreads();
  if (threadIdx.x == 0) {
    if (comes) arrive(counter);
    reach(counter, count);
  }
  __syncthreads();
}
__device__ float seen(float *x) {
  float found;
  asm volatile("LOAD %0, [%1];" : "=f"(found) : "l"(x) : "memory");
  return found;
}
extern "C" __global__ void begin(float *x, float *y, int *begun_read_written, long n) {
  EACH(i) y[i] = x[i];
  if (threadIdx.x < 3) begun_read_written[threadIdx.x] = 0;
}
extern "C" __global__ void over(float *x, int *begun_read_written, float *y, long n) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  meet(begun_read_written, false, gridDim.x);
  float sum = 0;
  EACH(i) sum += seen(x + i);
  if (sum < 0) y[0] = sum;
  meet(begun_read_written + 1, true, gridDim.x);
  EACH(i) if (i % gridDim.x == blockIdx.x) y[i] = x[i] + 1;
  long start = clock64();
  while (clock64() - start < 20000);
  meet(begun_read_written + 2, true, gridDim.x);
}
extern "C" __global__ void next(float *x, int *begun_read_written, float *y, long n, long waits) {
  if (threadIdx.x == 0) arrive(begun_read_written);
  if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
  else meet(begun_read_written + 2, false, gridDim.x);
  EACH(i) y[blockIdx.x * n + i] = seen(x + i);
}
"""


def archive(load, waits):
    """Three kernels in a row, the second one's result in the place of its operand."""
    blocks = attribute("cuda:0", "MULTIPROCESSOR_COUNT")
    buffers = (
        buffer("x", "input", COUNT),
        buffer("before", "workspace", COUNT),
        buffer("counters", "workspace", 3, dtype="int32"),
        buffer("after", "workspace", COUNT),
        buffer("y", "output", blocks, COUNT),
    )
    wide = {"grid": (blocks, 1, 1), "block": (THREADS, 1, 1), "waits": True}
    known = {"room": OccupancyLimit(blocks, 1, 1, 0)}
    steps = (
        launch("begin", [0], [1, 2], COUNT, block=(THREADS, 1, 1)),
        launch("over", [1, 2], [3], COUNT, **wide, **known, signals=True, in_place=((3, 1),)),
        launch("next", [3, 2], [4], COUNT, int(waits), **wide, **known),
    )
    kernels = compile_cuda(KERNELS.replace("LOAD", load), arch=ARCH, name="over").cubin
    return Archive({"main": Plan(ARCH, buffers, steps, (0,), (4,))}, {"unit": kernels})


def seen_by_all(load, waits, use_graph=True):
    """What every block of the last kernel sees in each of a few calls, and what it should."""
    executor = Executor(archive(load, waits), "cuda:0", use_graph=use_graph)
    for iteration in range(20):
        x = np.arange(iteration, iteration + COUNT, dtype=np.float32)
        (y,) = executor([to_device(x, "cuda:0")])
        yield array_of(y), x + 1
    (program,) = executor.programs.values()
    assert program.bound.places[3] == 1
    assert program.bound.overlaps(2)


@pytest.mark.parametrize("use_graph", [True, False])
@pytest.mark.parametrize("load", ["ld.global.f32", "ld.global.nc.f32"])
def test_behind_its_wait_a_kernel_sees_what_was_written_over(load, use_graph):
    for seen, right in seen_by_all(load, True, use_graph):
        assert np.array_equal(seen, np.broadcast_to(right, seen.shape))


@pytest.mark.parametrize("load", ["ld.global.f32", "ld.global.nc.f32"])
def test_without_its_wait_it_would_not(load):
    assert all((seen == right - 1).mean() > 0.5 for seen, right in seen_by_all(load, False))
