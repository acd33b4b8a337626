"""The devices of this machine, looked at when they are first asked for."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

from hidet.errors import CudaError, NoDevice
from hidet.runtime.driver import call, cu

_lock = Lock()


@lru_cache(maxsize=1)
def device_count() -> int:
    """How many GPUs there are; 0 without a driver."""
    try:
        with _lock:
            call("cuInit", 0)
        return int(call("cuDeviceGetCount"))
    except (NoDevice, CudaError):
        return 0


def index_of(device: str) -> int:
    """The number of a CUDA device such as "cuda:1"."""
    _, _, index = device.partition(":")
    return int(index or 0)


@lru_cache(maxsize=64)
def handle(device: str) -> Any:
    """The driver's handle of a device; NoDevice says why there is none."""
    call("cuInit", 0)
    count = int(call("cuDeviceGetCount"))
    if index_of(device) >= count:
        raise NoDevice(f"there is no {device}: this machine has {count} GPUs")
    return call("cuDeviceGet", index_of(device))


@lru_cache(maxsize=64)
def primary_context(device: str) -> Any:
    """The device's primary context, which frameworks use too; kept for the life of the process."""
    return call("cuDevicePrimaryCtxRetain", handle(device))


def make_current(device: str) -> None:
    """Let the driver calls of this thread go to the device."""
    context = primary_context(device)
    if int(call("cuCtxGetCurrent")) != int(context):
        call("cuCtxSetCurrent", context)


def attribute(device: str, name: str) -> int:
    """A fact about the device, by the driver's name after CU_DEVICE_ATTRIBUTE_."""
    kind = getattr(cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call("cuDeviceGetAttribute", kind, handle(device)))


@lru_cache(maxsize=64)
def cuda_capability(device: str) -> tuple[int, int]:
    """The compute capability, such as (9, 0)."""
    handle(device)
    return (
        attribute(device, "COMPUTE_CAPABILITY_MAJOR"),
        attribute(device, "COMPUTE_CAPABILITY_MINOR"),
    )


def current_device() -> str:
    """The device of this thread's current context; the first GPU if there is none."""
    context = call("cuCtxGetCurrent")
    return f"cuda:{int(call('cuCtxGetDevice'))}" if int(context) else "cuda:0"
