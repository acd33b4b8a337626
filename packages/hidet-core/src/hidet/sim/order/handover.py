"""Release and acquire within a cluster: what threads saw at fences, and what hangs on elements.

What a thread had seen at its last fence hangs on every element that it then writes atomically. Who
reads such an element atomically has it pending, and knows it from the next fence on.
`release_acquire` says when.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hidet.sim.order.clocks import Clocks
from hidet.sim.order.releases import joined
from hidet.sim.values import Array

Actor = tuple[int, int]
"""The cluster of who acts, counted among the resident ones, and the number in its clocks."""
Key = tuple[int, int, int]
"""The first block that is resident, then an actor."""


@dataclass
class Handover:
    """What was seen at fences, what hangs on elements, what is pending until the next fence."""

    released: dict[Key, Array] = field(default_factory=dict)
    offered: dict[tuple[int, int, int, int], Array] = field(default_factory=dict)
    pending: dict[Key, Array] = field(default_factory=dict)

    def fence(self, clocks: Clocks, slots: Array, actors: Array) -> None:
        """These have executed a fence."""
        clocks.tick()
        for slot, actor in zip(slots, actors, strict=True):
            me = int(slot) // clocks.team.cluster, int(actor)
            for each in self.same(clocks, me):
                known = self.pending.pop((clocks.team.first, *each), None)
                if known is not None:
                    clocks.learn(*me, known)
            self.released[clocks.team.first, *me] = clocks.published(*me)

    def touch(
        self, clocks: Clocks, actor: Actor, element: tuple[int, int], reads: bool, writes: bool
    ) -> None:
        """An actor of a cluster reads, writes or updates an element (buffer, position) atomically.

        A plain atomic write ends what earlier writers handed over by the element.
        """
        first, me = clocks.team.first, (clocks.team.first, *actor)
        place = (first, actor[0], *element)
        if reads and place in self.offered:
            self.pending[me] = both(self.pending.get(me), self.offered[place])
        if not writes:
            return
        found = self.offered.get(place) if reads else None
        for each in self.same(clocks, actor):
            known = self.released.get((first, *each))
            if known is not None:
                found = both(found, known)
        if found is not None:
            self.offered[place] = found
        else:
            self.offered.pop(place, None)

    def same(self, clocks: Clocks, me: Actor) -> list[Actor]:
        """The actor, and the warp it is a lane of."""
        cluster, actor = me
        return [me] if actor <= clocks.all_warps else [me, (cluster, clocks.warp_of(actor))]


def both(one: Array | None, other: Array) -> Array:
    """All that either knows."""
    return other if one is None else joined(one, other)
