"""What every thread has seen of every other: vector clocks, one row per warp while lanes agree.

Time is one counter that moves on at every synchronisation. `Clocks.seen[space, cluster, me, other]`
is the time before which everything that `other` did is ordered before what `me` does now. Those who
act are numbered within a cluster of blocks (a block alone is a cluster of one). First come the
warps, from 1 on, and then, as they are needed, single threads that synchronise without the rest of
their warp, and *channels*: mbarriers and groups, by which asynchronous operations complete. 0
stands for all other clusters: its entry is no time, but says how much is known (`Releases`).

There are three spaces. `GENERIC` orders ordinary accesses. The other two say which ordinary
writes the asynchronous proxy can see: a proxy fence copies the first space into them.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from hidet.sim.order.actors import AGENTS, GENERIC, NOBODY, RETIRED, Agent, Team, Who, pick
from hidet.sim.order.releases import Releases
from hidet.sim.values import Array, every, some


class Clocks:
    """What the warps, single threads and channels of the resident clusters have seen."""

    def __init__(self, team: Team) -> None:
        self.now = 1
        self.team = team
        self.releases = Releases()
        self.warps = -(-team.threads // team.warp)
        """Warps of one block."""
        self.all_warps = self.warps * team.cluster
        self.actors: dict[Hashable, int] = {}
        """Single threads, by their number in the cluster, and channels, by what they belong to."""
        self.lanes: dict[int, list[int]] = {}
        """The single threads among the actors, by the warp they are of."""
        self.lane_of = np.zeros(0, np.int64)
        self.seen = np.zeros((3, 1, 1, 1), np.int64)
        self.fenced = np.zeros((3, 1, 1), np.int64)
        """The time of each actor's last proxy fence, for its own writes."""
        self.agents: list[Agent] = []
        self.first_agent = 0
        """The first one of the blocks that are resident now."""
        self.renew(team, team.cluster)
        self.done = np.zeros((3, 0), np.int64)
        """Of each number of an agent: cluster, channel (0: not complete), time of completion."""

    def renew(self, team: Team, blocks: int) -> None:
        """Other blocks are resident now; stamps and numbers of earlier ones stay comparable."""
        self.team = team
        self.first_agent = len(self.agents)
        size = 1 + self.all_warps + len(self.actors)
        self.seen = np.zeros((3, blocks // team.cluster, size, size), np.int64)
        self.fenced = np.zeros((3, blocks // team.cluster, size), np.int64)
        self.tick()

    def tick(self) -> int:
        """Move time on; what happened before has a smaller stamp."""
        self.now += 1
        return self.now

    # ---- who acts --------------------------------------------------------------------------------

    def warp_actor(self, slot: Array | int, warp: Array | int) -> Array:
        """The number of a warp, given by its block and its number there."""
        return np.asarray(1 + slot % self.team.cluster * self.warps + warp)

    def channel(self, key: Hashable) -> int:
        """The number of a channel; a new one at first."""
        found = self.actors.get(key)
        if found is None:
            found = self.actors[key] = 1 + self.all_warps + len(self.actors)
            self.grow(found + 1)
        return found

    def lane_actor(self, thread: int, slot: int) -> int:
        """The number of a single thread, given by its number in the block."""
        team = self.team
        inside = slot % team.cluster * team.threads + thread
        known = self.actors.get(inside)
        if known is not None:
            return known
        found = self.channel(inside)
        if not self.lane_of.size:
            self.lane_of = np.zeros(team.threads * team.cluster, np.int64)
        self.lane_of[inside] = found
        self.lanes.setdefault(inside // team.warp, []).append(found)
        return found

    def grow(self, size: int) -> None:
        """Make room for more actors: half as many again at least, since what is known is copied."""
        seen, fenced, have = self.seen, self.fenced, self.seen.shape[3]
        if size > have:
            size = max(size, have + 16, have * 3 // 2)
            self.seen = np.zeros((*seen.shape[:2], size, size), np.int64)
            self.fenced = np.zeros((*fenced.shape[:2], size), np.int64)
            self.seen[:, :, :have, :have], self.fenced[:, :, :have] = seen, fenced

    # ---- synchronisation -------------------------------------------------------------------------

    def published(self, cluster: int, actor: int) -> Array:
        """(spaces, actors): what `actor` passes on to those who synchronise with it now."""
        known: Array = self.seen[:, cluster, actor].copy()
        own = [actor]
        if actor > self.all_warps:
            own.append(self.warp_of(actor))
            known[:, actor] = self.fenced[:, cluster, own].max(axis=1)
        else:
            own += self.lanes.get(actor - 1, [])
            known[:, own] = np.maximum(known[:, own], self.fenced[:, cluster, own])
        for each in own[1:]:
            np.maximum(known, self.seen[:, cluster, each], out=known)
        known[GENERIC, actor] = self.now
        return known

    def learn(self, cluster: int, actor: int, known: Array) -> None:
        """`actor` has synchronised with those who know `known`."""
        row = self.seen[:, cluster, actor, : known.shape[1]]
        np.maximum(row, known, out=row)

    def warp_of(self, lane: int) -> int:
        """The warp of a single thread, both as actors."""
        inside = int(np.flatnonzero(self.lane_of == lane)[0])
        return 1 + inside // self.team.warp

    def blocks_met(self, slots: Array) -> None:
        """A block-wide barrier in the blocks `slots`."""
        now = self.tick()
        for part in range(self.team.cluster):
            met = slots[slots % self.team.cluster == part] // self.team.cluster
            if len(met):
                first = part * self.warps
                self.met(met, np.arange(first, first + self.warps), now)

    def met(self, clusters: Array, warps: Array, now: int) -> None:
        """All threads of the given warps of each cluster have met."""
        actors = 1 + warps
        lanes = [lane for warp in warps for lane in self.lanes.get(int(warp), ())]
        own = np.concatenate([actors, np.array(lanes, np.int64)])
        spaces = np.arange(len(self.seen))
        known = self.seen[np.ix_(spaces, clusters, own)].max(axis=2)
        there = np.ix_(spaces, np.arange(len(clusters)), own)
        known[there] = np.maximum(known[there], self.fenced[np.ix_(spaces, clusters, own)])
        known[np.ix_(np.array([GENERIC]), np.arange(len(clusters)), actors)] = now
        self.seen[np.ix_(spaces, clusters, actors)] = known[:, :, None]

    def warps_met(self, slots: Array, warps: Array) -> None:
        """A barrier within each of the given warps."""
        now, actors = self.tick(), self.warp_actor(slots, warps)
        clusters = slots // self.team.cluster
        if self.lanes:
            for cluster, actor in zip(clusters, actors, strict=True):
                self.learn(int(cluster), int(actor), self.published(int(cluster), int(actor)))
        own = self.seen[:, clusters, actors, actors]
        self.seen[:, clusters, actors, actors] = np.maximum(own, self.fenced[:, clusters, actors])
        self.seen[GENERIC, clusters, actors, actors] = now

    def fence_proxy(self, slots: Array, actors: Array, spaces: tuple[int, ...]) -> None:
        """What `actors` have seen or written so far becomes visible to their asynchronous proxy."""
        now, clusters = self.tick(), slots // self.team.cluster
        warps = np.array([a if a <= self.all_warps else self.warp_of(int(a)) for a in actors])
        known = np.maximum(
            self.seen[GENERIC, clusters, actors], self.seen[GENERIC, clusters, warps]
        )
        for space in spaces:
            old = self.seen[space, clusters, actors]
            self.seen[space, clusters, actors] = np.maximum(old, known)
            self.fenced[space, clusters, actors] = now

    def place(self, cluster: int) -> int:
        """The number in the grid of a resident cluster."""
        return self.team.first // self.team.cluster + cluster

    # ---- asynchronous operations -----------------------------------------------------------------

    def begin(
        self,
        kind: str,
        thread: int,
        cluster: int,
        site: int,
        clock: Array,
        completes_in: tuple[str, int],
    ) -> Agent:
        """A new asynchronous operation, not complete."""
        number = AGENTS - 2 * len(self.agents)
        agent = Agent(kind, number, thread, site, clock, completes_in)
        self.agents.append(agent)
        count = 2 * len(self.agents)
        if count > self.done.shape[1]:
            self.done = np.pad(self.done, ((0, 0), (0, max(64, count))))
        self.done[0, count - 2 : count] = self.place(cluster)
        return agent

    def agent(self, number: int) -> Agent:
        """The asynchronous operation of a number in the shadows."""
        return self.agents[(AGENTS - number) // 2]

    def complete(self, number: int, channel: int, time: int) -> None:
        """The reads or the writes of an agent are done by `channel`, at `time`."""
        self.done[1:, AGENTS - number] = channel, time

    def retire(self, agent: Agent) -> None:
        """Nothing belongs to the agent any more: others answer for what it did."""
        self.complete(agent.number, RETIRED, self.now)
        self.complete(agent.number - 1, RETIRED, self.now)

    # ---- the question ----------------------------------------------------------------------------

    def ordered(self, other: Array, stamp: Array, who: Who, generic: bool = False) -> Array:
        """Whether the access of `other` at time `stamp` is ordered before `who`'s now.

        With `generic`, an agent is taken to see all that its issuer has seen.
        """
        space = GENERIC if who.agent is None or generic else who.agent.space
        if who.agent is not None and who.agent.generic:
            space = GENERIC
        found: Array = other == NOBODY
        if who.agent is None:
            found |= other == who.thread
        by_agent = other <= AGENTS
        if some(by_agent):
            there = np.flatnonzero(by_agent & ~found)
            found[there] = self.after_agents(other[there], pick(who, there))
        near, actor = self.near(other, who)
        near &= ~by_agent
        rows = self.warp_actor(who.slot, who.warp)
        cluster = who.slot // self.team.cluster
        if who.agent is not None:
            known = entries(who.agent.clock[space], actor)
        else:
            known = self.seen[space, cluster, rows, actor]
        found |= near & (stamp < known)
        if self.lanes and not every(found):
            rest = np.flatnonzero(~found & near)
            found[rest] = stamp[rest] < self.by_lanes(
                other[rest], actor[rest], pick(who, rest), space
            )
        if self.releases.logs and not every(found):
            rest = np.flatnonzero(~found & ~near)
            found[rest] = self.far(other[rest], stamp[rest], pick(who, rest), space)
        return found

    def far(
        self,
        other: Array,
        stamp: Array,
        who: Who,
        space: int = GENERIC,
        wide: Array | None = None,
    ) -> Array:
        """Whether accesses in other clusters are visible, by what was released and acquired.

        `wide` tells of each whether a whole warp (1) or a whole block (2) accessed like `other`.
        """
        team, by_agent = self.team, other <= AGENTS
        each = team.threads * team.cluster
        they, actor = other // each, 1 + other % each // team.warp
        if some(by_agent):
            cluster, channel, time = self.done[:, AGENTS - other[by_agent]]
            they[by_agent], actor[by_agent] = cluster, channel
            stamp = stamp.copy()
            stamp[by_agent] = time
        lane = np.where(by_agent | (not self.lanes), 0, self.lane_number(other))
        me = (who.slot + team.first) // team.cluster
        zero = np.zeros(len(other), np.int64)
        if who.agent is not None:
            plain, special = (zero + who.agent.clock[part, 0] for part in (GENERIC, space))
        else:
            plain, special = (self.known_of(who, zero, part) for part in (GENERIC, space))
        known = self.releases.reached(me, they, (plain, special), space, actor)
        if wide is not None:
            lane[wide > 0] = 0
            first = 1 + other % each // team.threads * self.warps
            for warp in range(self.warps if some(wide == 2) else 0):
                whole = self.releases.reached(me, they, (plain, special), space, first + warp)
                known = np.where(wide == 2, np.maximum(known, whole), known)
        if some(lane):
            by_lane = self.releases.reached(me, they, (plain, special), space, lane)
            known = np.maximum(known, by_lane)
        found: Array = (they != me) & (stamp < known)
        return found

    def near(self, other: Array, who: Who) -> tuple[Array, Array]:
        """Whether threads `other` are in `who`'s cluster, and the numbers of their warps there."""
        team = self.team
        each = team.threads * team.cluster
        near = (other >= 0) & (other // each == (who.slot + team.first) // team.cluster)
        return near, np.where(near, 1 + other % each // team.warp, 0)

    def after_agents(self, other: Array, who: Who) -> Array:
        """Whether agents `other` are complete, and `who` has seen it."""
        cluster, channel, time = self.done[:, AGENTS - other]
        if who.agent is not None:
            known = entries(who.agent.clock[GENERIC], channel)
        else:
            known = self.known_of(who, channel)
        mine = (who.slot + self.team.first) // self.team.cluster
        found: Array = (cluster == mine) & (channel > 0) & (time < known)
        return found

    def known_of(self, who: Who, actor: Array, space: int = GENERIC) -> Array:
        """What the threads know of `actor`, each by itself."""
        cluster = who.slot // self.team.cluster
        known: Array = self.seen[space, cluster, self.warp_actor(who.slot, who.warp), actor]
        if self.lanes:
            known = np.maximum(known, self.seen[space, cluster, self.lane_rows(who), actor])
        return known

    def lane_rows(self, who: Who) -> Array:
        """The threads as actors; 0 where they never synchronised alone."""
        return self.lane_number(who.thread)

    def lane_number(self, threads: Array) -> Array:
        """Threads of the launch as actors; 0 where they never synchronised alone."""
        each = self.team.threads * self.team.cluster
        found: Array = self.lane_of[threads % each] if self.lanes else np.zeros_like(threads)
        return found

    def by_lanes(self, other: Array, warp: Array, who: Who, space: int) -> Array:
        """What `who` knows of threads `other`, with all that single threads know of each other."""
        lane = np.where(other >= 0, self.lane_number(other), 0)
        if who.agent is not None:
            clock = who.agent.clock[space]
            alone = entries(clock, lane)
        else:
            alone = self.known_of(who, lane, space)
        by_warp = entries(clock, warp) if who.agent is not None else self.known_of(who, warp, space)
        return np.maximum(by_warp, np.where(lane > 0, alone, 0))


def entries(clock: Array, actors: Array) -> Array:
    """The entries of a clock; 0 for actors that came after it was taken."""
    inside = actors < len(clock)
    found: Array = np.where(inside, clock[np.where(inside, actors, 0)], 0)
    return found
