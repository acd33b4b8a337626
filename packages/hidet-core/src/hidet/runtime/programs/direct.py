"""Plans of one launch on the CPU, called without what plans of several need.

A call of a small model lasts as long as the host needs for it. Where a plan has no memory of its
own, no pointers are kept between calls; where it does not use the team either, nothing is shared,
and nobody waits for a lock. What the host does counts for larger ones too: a kernel that drives
Python out of the caches makes each of its steps take ten times as long.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from hidet.runtime.binding.bound import BoundPlan
from hidet.runtime.devices.launchable import HostModule
from hidet.runtime.plans.plan import Launch, Scalar
from hidet.runtime.team import OnTeam

NUMBERS = {"int32": ctypes.c_int32, "int64": ctypes.c_int64}
"""Sizes as C takes them."""

Direct = Callable[[Sequence[int]], object]
"""Calls a function, given where inputs and outputs lie."""


def direct(
    bound: BoundPlan,
    modules: Mapping[str, HostModule],
    fixed: Mapping[int, int],
    threads: Callable[[], int],
) -> Direct | None:
    """The call of the one function of a plan; None for any other plan.

    `fixed` says where weights lie, which stay there as long as the program does, `threads` how many
    a call uses.
    """
    if len(bound.steps) != 1 or bound.arena.nbytes:
        return None
    (step,) = bound.steps
    if not isinstance(step, Launch):
        return None
    found = launch(step, bound, modules, fixed)
    if found is None or not modules[step.binary].has_loops:
        return found
    return OnTeam(threads).around(found)


def launch(
    step: Launch, bound: BoundPlan, modules: Mapping[str, HostModule], fixed: Mapping[int, int]
) -> Direct | None:
    """The call of a function; None if not all that it takes is known."""
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
