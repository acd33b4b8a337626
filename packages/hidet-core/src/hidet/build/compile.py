"""From a graph to an archive: found in the cache, or drafted and compiled now.

All that compiling takes is loaded when a graph is not found: most processes find theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hidet import options, seams
from hidet.build.caching.cache import Cache
from hidet.build.caching.key import key_of_graph
from hidet.build.planning.places import with_places
from hidet.build.target import target_for
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.plans.archive import Archive, read
from hidet.target import Target


class Compiled:
    """A compiled graph: the archive, and the tensors behind its weights by name.

    `key` is that of the archive in the cache, None if it is not there.
    """

    def __init__(
        self, archive: Archive, weights: dict[str, Tensor], key: str | None = None
    ) -> None:
        self.archive = archive
        self.weights = weights
        self.key = key

    def with_weights(self) -> Archive:
        """The archive with the values of those weights that lie in the host's memory."""
        values = {
            name: tensor.storage
            for name, tensor in self.weights.items()
            if isinstance(tensor.storage, np.ndarray)
        }
        return Archive(self.archive.plans, self.archive.binaries, values, self.archive.meta)


def compile_graph(graph: FlowGraph, target: Target | str | None = None) -> Compiled:
    """Compile a graph for `target`: a Target or its text, by default that of the graph's device.

    Weights are named by their order of use; those that lie in the host's memory go into the archive
    when it is saved.
    """
    chosen = target_for(graph, target)
    # Constants as they were given: passes neither make nor drop any that matters to the caller.
    names = {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)}
    weights = {name: tensor for tensor, name in names.items()}
    draft = None
    choices: list[str] = []
    if options.search_space.get():
        # What was measured decides what is compiled, so it comes ahead of a look into the cache.
        draft = seams.call("draft", graph, chosen, names)
        choices = draft.tuned()

    def compiled() -> Archive:
        made = draft or seams.call("draft", graph, chosen, names)
        archive: Archive = made.archive()
        return archive

    kept = options.cache.get() and not is_watched()
    key = key_of_graph(graph, chosen, choices) if kept else None
    if key is None:
        return Compiled(with_places(compiled(), graph), weights)
    title = title_of(graph)
    whole = Cache().made(key, lambda: compiled().to_bytes(), title)
    return Compiled(with_places(read(whole, f"the cached {title}"), graph), weights, key)


def title_of(graph: FlowGraph) -> str:
    """What users know a graph by: its name, and the line that its first operator comes from."""
    places = (node.place for node in graph.nodes if node.place is not None)
    place = next(places, None)
    return f"graph {graph.name}" + (f", {place.short}" if place is not None else "")


def find_graph(key: str, weights: Mapping[str, Tensor]) -> Compiled | None:
    """A graph that was compiled before, by the key of its archive, with these weights by name."""
    whole = Cache().get(key, "a graph known again")
    if whole is None:
        return None
    return Compiled(read(whole, "a cached graph"), dict(weights), key)


def is_watched() -> bool:
    """Whether someone wants to see the stages of compilation, so that they have to take place."""
    asked = (options.dump, options.verbose, options.save_graph, options.profile_passes)
    return any(each.get() for each in asked)
