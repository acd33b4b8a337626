"""What kind of map an operator is, found out once: passes and fusion ask again and again."""

from __future__ import annotations

from functools import lru_cache

from hidet.compute import Kind, classify
from hidet.graph.operator import Op


@lru_cache(maxsize=4096)
def kind_of(op: Op) -> Kind:
    """The kind of an operator's definition; of one that has none there is none."""
    return classify(*op.definition().outputs)
