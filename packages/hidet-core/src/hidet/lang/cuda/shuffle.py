"""Values exchanged between the lanes of a warp; bit i of `mask` says that lane i takes part."""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted, number, truth
from hidet.types import boolean, i32, u32


def shfl_sync(mask: Value, value: Value, lane: Value, width: int = 32) -> Any:
    """`value` of lane number `lane` within each group of `width` lanes."""
    return exchange("shfl_sync", mask, value, lane, width)


def shfl_up_sync(mask: Value, value: Value, delta: Value, width: int = 32) -> Any:
    """`value` of the lane `delta` below; a lane's own value where there is none in its group."""
    return exchange("shfl_up_sync", mask, value, delta, width)


def shfl_down_sync(mask: Value, value: Value, delta: Value, width: int = 32) -> Any:
    """`value` of the lane `delta` above; a lane's own value where there is none in its group."""
    return exchange("shfl_down_sync", mask, value, delta, width)


def shfl_xor_sync(mask: Value, value: Value, lane_mask: Value, width: int = 32) -> Any:
    """`value` of the lane whose number differs in the bits of `lane_mask`."""
    return exchange("shfl_xor_sync", mask, value, lane_mask, width)


def ballot_sync(mask: Value, condition: Value) -> Any:
    """A u32 whose bit i says whether `condition` holds in lane i."""
    return vote("ballot_sync", mask, condition, u32)


def any_sync(mask: Value, condition: Value) -> Any:
    """Whether `condition` holds in any lane."""
    return vote("any_sync", mask, condition, boolean)


def all_sync(mask: Value, condition: Value) -> Any:
    """Whether `condition` holds in all lanes."""
    return vote("all_sync", mask, condition, boolean)


def exchange(name: str, mask: Value, value: Value, lane: Value, width: int) -> Any:
    """The call of a shuffle; its result has the value's type."""
    sent = number(value, "the value")
    of = sent.dtype
    return invoke(
        name, lanes(mask), sent, converted(lane, i32, "the lane"), results=(of,), options=(width,)
    )


def vote(name: str, mask: Value, condition: Value, of: Any) -> Any:
    """The call of a vote."""
    return invoke(name, lanes(mask), truth(condition), results=(of,))


def lanes(mask: Value) -> Expr:
    """A mask of lanes."""
    return converted(mask, u32, "the mask")
