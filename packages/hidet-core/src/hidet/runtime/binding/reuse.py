"""Which workspaces take the place of an operand that nothing reads after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hidet.runtime.binding.order import ancestors
from hidet.runtime.plans.plan import Launch, Scalar, Step


def reused(
    steps: Sequence[Step],
    sizes: Mapping[int, int],
    users: Mapping[int, Sequence[int]],
    waits: Sequence[set[int]],
) -> dict[int, int]:
    """For each buffer of `sizes` bytes the first one in whose place it lies.

    A launch whose kernel allows it writes over an operand of the same size if all that is done with
    the memory comes before the launch, and all that is done with the result after it.
    """
    before = ancestors(waits)
    places = {each: each for each in sizes}
    lying: dict[int, set[int]] = {each: set(users[each]) for each in sizes}
    for number, step in enumerate(steps):
        if not isinstance(step, Launch):
            continue
        for new, old in step.in_place:
            if not (new in sizes and old in sizes and sizes[new] == sizes[old]):
                continue
            if places[new] != new or times_given(step, old) != 1 or times_given(step, new) != 1:
                continue
            first = places[old]
            done = all(before[number] >> each & 1 for each in lying[first] - {number})
            fresh = all(before[each] >> number & 1 for each in lying[new] - {number})
            if done and fresh:
                places[new] = first
                lying[first] |= lying[new]
    return places


def times_given(step: Launch, buffer: int) -> int:
    """How many arguments of a launch stand for a buffer."""
    return sum(arg.buffer == buffer for arg in step.args if not isinstance(arg, Scalar))
