"""Calls of the CUDA driver, each checked; importing this needs no driver."""

from __future__ import annotations

from typing import Any

from hidet.errors import CudaError, NoDevice, OutOfMemory

cu: Any
try:
    from cuda.bindings import driver as cu  # type: ignore[import-untyped,no-redef,unused-ignore]
except ImportError:  # a platform without NVIDIA's bindings
    cu = None

HINTS = {
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the code was compiled for another GPU",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "a kernel read or wrote outside of its tensors; the process has "
    "to be restarted. Run it in the simulator (hidet.sim) to see where",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "a CUDA graph is being captured, here or in another "
    "thread, and this waits for all work of the device: do it before the capture or after it",
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": "something ended the capture of a CUDA graph before: "
    "often a wait for the device, or memory that was taken in another thread",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": "a stream that waits for the default stream is being "
    "captured into a CUDA graph: capture one of the kind CU_STREAM_NON_BLOCKING",
}


def call(name: str, *args: Any) -> Any:
    """What driver function `name` returns; raises CudaError, OutOfMemory or NoDevice."""
    if cu is None:
        raise NoDevice("cuda-bindings is not installed", help="pip install 'hidet-core[cuda13]'")
    try:
        status, *values = getattr(cu, name)(*args)
    except (RuntimeError, OSError) as error:
        raise NoDevice(
            f"there is no CUDA driver: {str(error).splitlines()[0]}",
            help="install NVIDIA's driver, or use the CPU",
        ) from error
    if status != cu.CUresult.CUDA_SUCCESS:
        raise failure(name, status)
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def expect(status: Any, name: str) -> None:
    """Raise unless a call of driver function `name` went well.

    For the few calls that every run makes: `call` costs a third of a microsecond more.
    """
    if status:
        raise failure(name, status)


def failure(name: str, status: Any) -> CudaError:
    """The error for a failed call."""
    if status == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        return OutOfMemory(f"{name}: the GPU has not enough free memory")
    return CudaError(f"{name} failed: {status.name}", help=HINTS.get(status.name))
