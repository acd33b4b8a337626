"""Sizes that a device has computed, read by the host so that the plan after them can be bound."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

from hidet.errors import Capturing, ShapeMismatch
from hidet.runtime.binding.bound import between, spelled
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.stream import is_capturing
from hidet.runtime.plans.plan import SizeBuffer, Then
from hidet.runtime.plans.sizes import evaluate
from hidet.runtime.plans.variants import holds

MOST = 2**31 - 1
"""The greatest size of an axis."""


def read_sizes(
    then: Then,
    addresses: Mapping[int, int],
    sizes: Mapping[str, int],
    device: str,
    stream: int,
) -> dict[str, int]:
    """The sizes that are known after a plan: its own, and those that its buffers at `addresses`
    tell.

    On a GPU all are copied on the stream, and the host waits for them once. ShapeMismatch names one
    that is beyond its limits, or is not the size that it has to be.
    """
    if not then.data_sizes:
        return dict(sizes)
    read = read_host if device == "cpu" else read_device
    numbers = read([addresses[each.buffer] for each in then.data_sizes], stream)
    found = {**sizes, **{each.name: n for each, n in zip(then.data_sizes, numbers, strict=True)}}
    for each, number in zip(then.data_sizes, numbers, strict=True):
        check(each, number, found)
    return found


def read_host(addresses: Sequence[int], stream: int) -> list[int]:
    """The i64 at each of these addresses of the host."""
    return [ctypes.c_int64.from_address(each).value for each in addresses]


def read_device(addresses: Sequence[int], stream: int) -> list[int]:
    """The i64 at each of these addresses of a GPU, once the stream has computed them."""
    if is_capturing(stream):
        raise Capturing(
            "a model whose sizes depend on data cannot be captured into a CUDA graph: the host has "
            "to read them",
            help="capture what comes before and after it, or mask instead of selecting",
        )
    found = (ctypes.c_int64 * len(addresses))()
    for place, address in enumerate(addresses):
        target = ctypes.addressof(found) + 8 * place
        call("cuMemcpyDtoHAsync", target, address, 8, stream)
    call("cuStreamSynchronize", stream)
    return list(found)


def check(size: SizeBuffer, number: int, sizes: Mapping[str, int]) -> None:
    """Raise unless a size is within its limits, and what it has to be."""
    if not size.low <= number <= (MOST if size.high is None else size.high):
        raise ShapeMismatch(
            f"the data give `{size.name}` = {number}, a size that has to be "
            f"{between(size.low, MOST if size.high is None else size.high)}"
        )
    if size.equals is not None and (wanted := evaluate(size.equals, sizes)) != number:
        data_sizes = "" if isinstance(size.equals, int) else f"{spelled(size.equals)} = "
        raise ShapeMismatch(
            f"the data give `{size.name}` = {number}, which has to be {data_sizes}{wanted}"
        )
    for one in size.holds:
        if not holds(one, sizes):
            left, right = (evaluate(each, sizes) for each in (one.left, one.right))
            raise ShapeMismatch(
                f"the data give {spelled(one.left)} = {left} and {spelled(one.right)} = {right}, "
                f"where {spelled(one.left)} {one.sign} {spelled(one.right)} has to hold"
            )
