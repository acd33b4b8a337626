"""Graphs of a framework's that are known again without having been imported.

A frontend that can name a graph before it has imported it, by all that decides what it becomes,
keeps a note of how the compiled graph is called, and finds both at once the next time.
"""

from __future__ import annotations

import json
from typing import Any

from hidet import options
from hidet.build.caching.cache import Cache, digest_of_sources, key_of
from hidet.build.caching.key import compiler_of, has_only_our_operators, has_only_our_schedules
from hidet.build.compile import find_graph, is_watched
from hidet.build.target import target_on
from hidet.errors import HidetError

NOTE = "a graph known again"
"""What the cache calls these entries."""

__all__ = ["digest_of_sources", "find_graph", "keep", "key_on", "recall"]


def key_on(device: str, **facts: object) -> str | None:
    """The key of a graph for a device, which `facts` tell from all others, under the options in
    force.

    None where graphs are not known again: others' code takes part, schedules are measured, the
    stages of compilation are watched, or nothing is kept.
    """
    if not options.cache.get() or is_watched() or options.search_space.get():
        return None
    if not (has_only_our_operators() and has_only_our_schedules()):
        return None
    try:
        target = target_on(device)
    except HidetError:  # said when something is compiled for it
        return None
    return key_of(target=str(target), compiler=compiler_of(target), device=device, **facts)


def recall(key: str) -> Any:
    """What was kept under a key: JSON; None if nothing is there."""
    found = Cache().get(key, NOTE)
    return None if found is None else json.loads(found)


def keep(key: str, note: object) -> None:
    """Keep what is to be recalled."""
    Cache().put(key, json.dumps(note).encode(), NOTE)
