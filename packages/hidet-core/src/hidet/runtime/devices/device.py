"""The devices of this machine, looked at when they are first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from hidet.errors import BadArgument, CudaError, NoDevice
from hidet.runtime.devices.driver import call, cu


@lru_cache(maxsize=1)
def device_count() -> int:
    """How many GPUs there are; 0 without a driver."""
    try:
        call("cuInit", 0)
        return int(call("cuDeviceGetCount"))
    except (NoDevice, CudaError):
        return 0


def index_of(device: str) -> int:
    """The number of a CUDA device such as "cuda:1"."""
    kind, _, index = device.partition(":")
    if kind != "cuda" or not (index or "0").isdecimal():
        raise BadArgument(f"there is no device {device!r}", help='use "cpu", "cuda" or "cuda:1"')
    return int(index or 0)


def canonical(device: str) -> str:
    """A device's one spelling: "cpu", "cuda:0" (for "cuda" too), "cuda:1", ..."""
    return device if device == "cpu" else f"cuda:{index_of(device)}"


@lru_cache(maxsize=1)
def host_flags() -> frozenset[str]:
    """The instruction sets of this machine's CPU, as Linux names them; empty where unknown."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    lines = (line.split() for line in text.splitlines())
    return next((frozenset(line[2:]) for line in lines if line[:1] == ["flags"]), frozenset())


@lru_cache(maxsize=1)
def host_name() -> str:
    """The product name of this machine's CPU, as Linux knows it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown CPU"
    lines = (line.partition(":") for line in text.splitlines())
    return next((v.strip() for k, _, v in lines if k.strip() == "model name"), "unknown CPU")


@lru_cache(maxsize=64)
def cuda_name(device: str) -> str:
    """The product name of a GPU."""
    raw = call("cuDeviceGetName", 256, handle(device))
    return bytes(raw).split(b"\0")[0].decode(errors="replace")


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


def make_current(device: str) -> Any:
    """Let the driver calls of this thread go to the device.

    Returns the context they went to if it was another device's, for `restore`, else None.
    """
    context = primary_context(device)
    if is_current(int(context)):
        return None
    before = call("cuCtxGetCurrent")
    call("cuCtxSetCurrent", context)
    return before if int(before) else None


def is_current(context: int) -> bool:
    """Whether the driver calls of this thread go to a context already; quick."""
    status, found = cu.cuCtxGetCurrent()
    return int(found) == context and not status


def restore(context: Any) -> None:
    """Undo what `make_current` did: frameworks take the current context for their own."""
    if context is not None:
        call("cuCtxSetCurrent", context)


@contextmanager
def on(device: str) -> Iterator[None]:
    """A block whose driver calls go to the device, and those after it where they went before."""
    before = make_current(device)
    try:
        yield
    finally:
        restore(before)


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
    call("cuInit", 0)
    context = call("cuCtxGetCurrent")
    return f"cuda:{int(call('cuCtxGetDevice'))}" if int(context) else "cuda:0"
