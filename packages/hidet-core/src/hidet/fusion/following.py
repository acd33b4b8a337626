"""What comes after a group's anchor, as one definition."""

from __future__ import annotations

from hidet.compute import Computed, Definition, Grid, Input
from hidet.fusion.compose import compose, operands
from hidet.fusion.group import Group
from hidet.fusion.moves import Landing, landing
from hidet.graph.tensor import Tensor


class Following:
    """What a group computes from its anchor's result and its inputs."""

    def __init__(self, group: Group) -> None:
        assert group.anchor is not None
        others = [each for each in group.nodes if each is not group.anchor]
        self.value = Input("value", group.anchor.outputs[0].type)
        self.inputs = operands(group.inputs)
        grids = compose(others, {**self.inputs, group.anchor.outputs[0]: self.value})
        self.grids: dict[Tensor, Grid] = {each: grids[each] for each in group.results}

    def landings(self) -> dict[Tensor, Landing] | None:
        """Where the anchor's elements go in each result; None if one of these is out of sight, or
        reads single elements where another one reads pairs."""
        found = {each: self.landing(grid) for each, grid in self.grids.items()}
        known = {tensor: where for tensor, where in found.items() if where is not None}
        alike = len({where.pairs for where in known.values()}) == 1
        return known if alike and len(known) == len(found) else None

    def landing(self, grid: Grid) -> Landing | None:
        """Where the anchor's elements go in one result."""
        if grid is self.value:
            return Landing(tuple(range(self.value.ndim)))
        if not isinstance(grid, Computed):
            return None
        return landing(Definition((self.value, *self.inputs.values()), (grid,)), self.value)
