"""Which steps of a plan wait for which: for the data they read, and the memory they write."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.runtime.plan import Step


def dependencies(steps: tuple[Step, ...]) -> list[set[int]]:
    """For each step the earlier ones it has to wait for: it reads what they write, or writes what
    they read or write."""
    found: list[set[int]] = []
    writer: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        needs = {writer[each] for each in (*step.reads, *step.writes) if each in writer}
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


def ancestors(waits: Sequence[set[int]]) -> list[int]:
    """For each step all the steps that come before it, as a bit set."""
    found: list[int] = []
    for needs in waits:
        bits = 0
        for each in needs:
            bits |= found[each] | 1 << each
        found.append(bits)
    return found
