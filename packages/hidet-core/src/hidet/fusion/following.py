"""What comes after a group's anchor, as one definition."""

from __future__ import annotations

from hidet.compute import Definition, Grid, Input
from hidet.fusion.compose import compose, operands, rounding_is_free
from hidet.fusion.group import NARROW, Group
from hidet.fusion.moves import Landing, landing
from hidet.fusion.unrounded import Unrounded
from hidet.ir.expr import Add, Div, Math, Mul, Sub
from hidet.ir.walk import postorder
from hidet.types import f32


class Following:
    """What a group computes from `value`, which is its anchor's result, and from its inputs."""

    def __init__(self, group: Group) -> None:
        assert group.anchor is not None
        self.group, self.result = group, group.anchor.outputs[0]
        self.inputs = operands(group.inputs)
        self.value = Input("value", self.result.type)
        self.grid = self.composed(self.value, Unrounded())
        seen = self.result in group.rounded or not rounding_is_free(group.anchor)
        if self.result.dtype in NARROW and not seen:
            self.read_wide()

    def read_wide(self) -> None:
        """Read `value` in float32, if that makes a difference: what only moves, or takes the larger
        one, gives the same of a value rounded before or after."""
        unrounded = Unrounded()
        value = Input("value", f32[self.result.shape])
        grid = self.composed(unrounded.rounding(value, self.result.dtype), unrounded)
        if any(
            isinstance(e, Add | Sub | Mul | Div | Math) and e.type is f32 for e in postorder(grid)
        ):
            self.value, self.grid = value, grid

    def composed(self, value: Grid, unrounded: Unrounded) -> Grid:
        """The group's result, given the anchor's."""
        others = [each for each in self.group.nodes if each is not self.group.anchor]
        known = {**self.inputs, self.result: value}
        return compose(others, known, self.group.rounded, unrounded)[self.group.results[0]]

    @property
    def landing(self) -> Landing | None:
        """Where the anchor's elements go."""
        return landing(Definition((self.value, *self.inputs.values()), (self.grid,)), self.value)
