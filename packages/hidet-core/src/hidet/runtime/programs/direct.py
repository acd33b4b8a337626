"""Plans of one launch on the CPU, called without what plans of several need.

A call of a small model lasts as long as the host needs for it. Where a plan neither uses the team
nor memory of its own, nothing is shared between calls: nobody waits for a lock, and no pointers are
kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from hidet.runtime.binding.bound import BoundPlan
from hidet.runtime.devices.launchable import HostModule
from hidet.runtime.plans.plan import Launch, Scalar

NUMBERS = {"int32": ctypes.c_int32, "int64": ctypes.c_int64}
"""Sizes as C takes them."""

Direct = Callable[[Sequence[int]], object]
"""Calls a function, given where inputs and outputs lie."""


def direct(
    bound: BoundPlan, modules: Mapping[str, HostModule], fixed: Mapping[int, int]
) -> Direct | None:
    """The call of the one function of a plan; None for any other plan.

    `fixed` says where weights lie, which stay there as long as the program does.
    """
    if len(bound.steps) != 1 or bound.arena.nbytes:
        return None
    (step,) = bound.steps
    if not isinstance(step, Launch) or modules[step.binary].has_loops:
        return None
    moving = (*bound.plan.inputs, *bound.plan.outputs)
    places = {buffer: place for place, buffer in enumerate(moving)}
    kept: list[int] = []
    order: list[int] = []
    for arg in step.args:
        if not isinstance(arg, Scalar) and arg.buffer in places:
            order.append(places[arg.buffer])
            continue
        value = arg.value if isinstance(arg, Scalar) else fixed.get(arg.buffer)
        if not isinstance(value, int):
            return None
        order.append(len(moving) + len(kept))
        kept.append(value)
    function = modules[step.binary].function(step.function)
    function.argtypes = [
        NUMBERS[arg.dtype] if isinstance(arg, Scalar) else ctypes.c_void_p for arg in step.args
    ]
    if order == list(range(len(moving))):
        return lambda addresses: function(*addresses)
    if len(order) < 2:
        return None
    pick, constants = itemgetter(*order), tuple(kept)
    return lambda addresses: function(*pick((*addresses, *constants)))
