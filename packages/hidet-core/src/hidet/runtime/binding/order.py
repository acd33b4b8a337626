"""Which steps of a plan wait for which: for the data they read, and the memory they write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hidet.runtime.plans.plan import Step

APART: Mapping[int, int] = MappingProxyType({})
"""No buffer lies within another one."""


def dependencies(steps: tuple[Step, ...], wholes: Mapping[int, int] = APART) -> list[set[int]]:
    """For each step the earlier ones it has to wait for: it reads what they write, or writes what
    they read or write.

    `wholes` are the buffers in which parts lie: who reads such a one reads all of its parts, and
    those who write these do not wait for each other.
    """
    found: list[set[int]] = []
    parts: dict[int, list[int]] = {}
    for part, whole in wholes.items():
        parts.setdefault(whole, []).append(part)
    writer: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        inside = [part for each in (*step.reads, *step.writes) for part in parts.get(each, ())]
        touched = (*step.reads, *step.writes, *inside)
        needs = {writer[each] for each in touched if each in writer}
        needs |= {reader for each in step.writes for reader in readers.get(each, ())}
        found.append(needs - {number})
        for each in step.writes:
            writer[each], readers[each] = number, set()
        for each in step.reads:
            readers.setdefault(each, set()).add(number)
    return found


def reduced(waits: Sequence[set[int]]) -> list[set[int]]:
    """The same order with the fewest waits: none for a step that another awaited step waits for."""
    before = ancestors(waits)
    return [
        {each for each in needs if not any(before[other] >> each & 1 for other in needs)}
        for needs in waits
    ]


def serial(count: int) -> list[set[int]]:
    """The order in which each step waits for the one before it."""
    return [{number - 1} if number else set() for number in range(count)]


def ancestors(waits: Sequence[set[int]]) -> list[int]:
    """For each step all the steps that come before it, as a bit set."""
    found: list[int] = []
    for needs in waits:
        bits = 0
        for each in needs:
            bits |= found[each] | 1 << each
        found.append(bits)
    return found
