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


def uni_sync(mask: Value, condition: Value) -> Any:
    """Whether `condition` is the same in all lanes."""
    return vote("uni_sync", mask, condition, boolean)


def match_any_sync(mask: Value, value: Value) -> Any:
    """A u32 whose bit i says whether lane i has the same `value`, of 32 or 64 bits."""
    return invoke("match_any_sync", lanes(mask), number(value, "the value"), results=(u32,))


def match_all_sync(mask: Value, value: Value) -> Any:
    """The lanes and True if all have the same `value`, of 32 or 64 bits; else 0 and False."""
    sent = number(value, "the value")
    return invoke("match_all_sync", lanes(mask), sent, results=(u32, boolean))


def reduce_sync(mask: Value, value: Value, how: str = "add") -> Any:
    """What the lanes' values, i32 or u32, are together: "add", "min", "max", "and", "or", "xor"."""
    sent = number(value, "the value")
    return invoke("reduce_sync", lanes(mask), sent, results=(sent.dtype,), options=(how,))


def activemask() -> Any:
    """A u32 whose bit i says whether lane i executes the call together with this one.

    Nothing promises which lanes those are; ask for lanes by a mask instead where it matters.
    """
    return invoke("activemask", results=(u32,))


def exchange(name: str, mask: Value, value: Value, lane: Value, width: int) -> Any:
    """The call of a shuffle; its result has the value's type."""
    sent = number(value, "the value")
    where = converted(lane, i32, "the lane")
    return invoke(name, lanes(mask), sent, where, results=(sent.type,), options=(width,))


def vote(name: str, mask: Value, condition: Value, of: Any) -> Any:
    """The call of a vote."""
    return invoke(name, lanes(mask), truth(condition), results=(of,))


def lanes(mask: Value) -> Expr:
    """A mask of lanes."""
    return converted(mask, u32, "the mask")
