"""What comes after a group's anchor, as one definition."""

from __future__ import annotations

from hidet.compute import Definition, Grid, Input
from hidet.fusion.compose import compose, operands, rounding_is_free
from hidet.fusion.group import NARROW, Group
from hidet.fusion.moves import Landing, landing
from hidet.fusion.unrounded import Unrounded
from hidet.types import f32


class Following:
    """What a group computes from its anchor's result and its inputs."""

    def __init__(self, group: Group) -> None:
        assert group.anchor is not None
        others = [each for each in group.nodes if each is not group.anchor]
        result = group.anchor.outputs[0]
        unrounded = Unrounded()
        self.value = Input("value", result.type)
        made: Grid = self.value
        if (
            result.dtype in NARROW
            and result not in group.rounded
            and rounding_is_free(group.anchor)
        ):
            self.value = Input("value", f32[result.shape])
            made = unrounded.rounding(self.value, result.dtype)
        self.inputs = operands(group.inputs)
        known = {**self.inputs, result: made}
        grids = compose(others, known, group.rounded, unrounded)
        self.grid = grids[group.results[0]]

    @property
    def landing(self) -> Landing | None:
        """Where the anchor's elements go."""
        return landing(Definition((self.value, *self.inputs.values()), (self.grid,)), self.value)
