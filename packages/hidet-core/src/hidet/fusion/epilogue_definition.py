"""What comes after a group's anchor, as one definition."""

from __future__ import annotations

from hidet.compute import Computed, Definition, Grid, Input
from hidet.fusion.compose import compose, operands, rounding_is_free
from hidet.fusion.group import NARROW, Group
from hidet.fusion.moves import Landing, landing
from hidet.fusion.unrounded import Unrounded
from hidet.graph.tensor import Tensor
from hidet.ir.expr import Add, Div, Math, Mul, Sub
from hidet.ir.walk import postorder
from hidet.types import f32


class EpilogueDefinition:
    """What a group computes from `value`, which is its anchor's result, and from its inputs."""

    def __init__(self, group: Group) -> None:
        assert group.anchor is not None
        self.group, self.result = group, group.anchor.outputs[0]
        self.inputs = operands(group.inputs)
        seen = self.result in group.rounded or not rounding_is_free(group.anchor)
        wide = self.result.dtype in NARROW and not seen
        self.value, self.grids = (wide and self.read_wide()) or self.read_narrow()

    @property
    def is_wide(self) -> bool:
        """Whether it reads the anchor's result in float32, before that is rounded."""
        return self.value.dtype is not self.result.dtype

    def read_wide(self) -> tuple[Input, dict[Tensor, Grid]] | None:
        """`value` in float32 and the results, if that makes a difference: what only moves, or takes
        the larger one, gives the same of a value rounded before or after."""
        unrounded = Unrounded()
        value = Input("value", f32[self.result.shape])
        grids = self.composed(unrounded.rounding(value, self.result.dtype), unrounded)
        if any(
            isinstance(e, Add | Sub | Mul | Div | Math) and e.type is f32
            for grid in grids.values()
            for e in postorder(grid)
        ):
            return value, grids
        return None

    def read_narrow(self) -> tuple[Input, dict[Tensor, Grid]]:
        """`value` in the type of the anchor's result, and the results."""
        value = Input("value", self.result.type)
        return value, self.composed(value, Unrounded())

    def composed(self, value: Grid, unrounded: Unrounded) -> dict[Tensor, Grid]:
        """The group's results, given the anchor's."""
        others = [each for each in self.group.nodes if each is not self.group.anchor]
        known = {**self.inputs, self.result: value}
        grids = compose(others, known, self.group.rounded, unrounded)
        return {each: grids[each] for each in self.group.results}

    def landings(self) -> dict[Tensor, Landing] | None:
        """Where the anchor's elements go in each result; None if one of these is out of sight, or
        reads single elements where another one reads several, or all read one of several."""
        found = {each: self.landing(grid) for each, grid in self.grids.items()}
        known = {tensor: where for tensor, where in found.items() if where is not None}
        counts = {where.neighbours for where in known.values()}
        places = {place for where in known.values() for place in where.places}
        alike = len(counts) == 1 and (counts == {1} or len(places) > 1)
        return known if alike and len(known) == len(found) else None

    def landing(self, grid: Grid) -> Landing | None:
        """Where the anchor's elements go in one result."""
        if grid is self.value:
            return Landing(tuple(range(self.value.ndim)))
        if not isinstance(grid, Computed):
            return None
        return landing(Definition((self.value, *self.inputs.values()), (grid,)), self.value)
