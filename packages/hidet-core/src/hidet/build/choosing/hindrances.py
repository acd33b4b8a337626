"""Which units compute an operator, and what keeps it from a faster schedule."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import fields, replace
from functools import partial
from typing import Any

from hidet.build.choosing.choices import SURELY, choices, unread
from hidet.errors import HidetError
from hidet.fusion.group import Group
from hidet.graph.operator import Op
from hidet.schedules.base import Candidate
from hidet.schedules.typical import typical
from hidet.target import Target
from hidet.types import TensorType, bf16, f16

STEP = 8
"""Elements that tensor cores and vector loads take at once."""


def units(op: Op, best: Candidate, target: Target) -> str:
    """What computes an operator by a candidate on a GPU; "" elsewhere."""
    if target.kind != "cuda":
        return ""
    return "tensor cores" if on_tensor_cores(op, best, target) else "CUDA cores"


def on_tensor_cores(op: Op, best: Candidate, target: Target) -> bool:
    """Whether a candidate multiplies on tensor cores."""
    call = typical(op, target)[0]
    return bool(best.point.work(call, target).tensor_core)


def hindrance(op: Op, best: Candidate, target: Target) -> str:
    """Which schedule would be faster than the best one that fits, and which sizes keep it from
    fitting; "" where none would."""
    odd = odd_sizes(op)
    other = with_types(op, partial(rounded, odd)) if target.kind == "cuda" else None
    found = next(iter(choices(other, target)), None) if other is not None else None
    if found is None or found.schedule.name == best.schedule.name:
        return ""
    if found.seconds * SURELY >= best.seconds:
        return ""
    if found.schedule.fits(op, target):  # what keeps it is no size
        return ""
    needed = [n for n in odd if not fits(op, odd - {n}, found, target)]
    sizes = " and ".join(map(str, sorted(needed))) or "all sizes"
    return f"{found.schedule.name} would be, but needs {sizes} to be multiples of {STEP}"


def detoured(group: Group, best: Candidate, target: Target) -> str:
    """Which schedule would be faster than a group's best one if it could read what the group
    computes, and why it cannot; "" where none would."""
    assert group.anchor is not None
    op = group.anchor.op
    free = choices(op, target, group.calls)[0]
    if free.schedule.name == best.schedule.name or free.seconds * SURELY >= best.seconds:
        return ""
    labels = op.operand_labels()
    needed = [f"{labels[place]}: {why}" for place, why in unread(free.schedule, group).items()]
    found = "; ".join(needed)
    return f"{free.schedule.name} would be, but does not read {found}" if needed else ""


def conversion(op: Op, target: Target) -> str:
    """Which type the operands of a matmul, a convolution or attention have that a CPU multiplies
    only as float32; "" where it multiplies them as they are."""
    if target.kind != "cpu":
        return ""
    kinds = [each.dtype for each in op.types()]
    if kinds.count(f16) > 1:
        return "float16 is converted to float32, which CPUs multiply"
    if kinds.count(bf16) > 1 and not target.has_feature("bf16"):
        return f"bfloat16 is converted to float32, since {target} has no AVX512-BF16 (+bf16)"
    return ""


def fits(op: Op, sizes: Set[int], found: Candidate, target: Target) -> bool:
    """Whether a schedule fits an operator of which these sizes alone are rounded up."""
    other = with_types(op, partial(rounded, sizes))
    return found.schedule.fits(op if other is None else other, target)


def odd_sizes(op: Op) -> Set[int]:
    """The known sizes of an operator's operands that are no multiples."""
    sizes = {n for each in op.types() for n in each.shape if isinstance(n, int)}
    return {n for n in sizes if n > 1 and n % STEP}


def with_types(op: Op, change: Callable[[TensorType], TensorType]) -> Op | None:
    """An operator like this one on operands of other types; None if there is no other, or none
    that is one."""
    given = {each.name: changed(getattr(op, each.name), change) for each in fields(op)}
    other = {name: value for name, value in given.items() if value != getattr(op, name)}
    try:
        made = replace(op, **other)
        made.infer()
    except HidetError:  # sizes that depend on each other otherwise
        return None
    return made if other else None


def changed(value: Any, change: Callable[[TensorType], TensorType]) -> Any:
    """An operand's type changed; an attribute as it is."""
    if isinstance(value, tuple) and any(isinstance(each, TensorType) for each in value):
        return tuple(changed(each, change) for each in value)
    return change(value) if isinstance(value, TensorType) else value


def rounded(sizes: Set[int], of: TensorType) -> TensorType:
    """The type with some of its sizes rounded up."""
    shape = [-(-n // STEP) * STEP if isinstance(n, int) and n in sizes else n for n in of.shape]
    return TensorType(of.dtype, tuple(shape))
