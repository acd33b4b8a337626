"""What comes after a group's anchor, as one definition."""

from __future__ import annotations

from hidet.compute import Definition, Input
from hidet.fusion.compose import compose, operands
from hidet.fusion.group import Group
from hidet.fusion.moves import Landing, landing


class Following:
    """What a group computes from its anchor's result and its inputs."""

    def __init__(self, group: Group) -> None:
        assert group.anchor is not None
        others = [each for each in group.nodes if each is not group.anchor]
        self.value = Input("value", group.anchor.outputs[0].type)
        self.inputs = operands(group.inputs)
        grids = compose(others, {**self.inputs, group.anchor.outputs[0]: self.value})
        self.grid = grids[group.results[0]]

    @property
    def landing(self) -> Landing | None:
        """Where the anchor's elements go."""
        return landing(Definition((self.value, *self.inputs.values()), (self.grid,)), self.value)
