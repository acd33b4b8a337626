"""Values that never leave a kernel, without the rounding to float16 or bfloat16 in between.

Operators on narrow floats compute in float32 and round what they give. Of a value that is not
stored only its readers see the rounding, and they widen it again: both are left out.

    before   y = f16(f32(x) * 2)    z = f16(f32(y) + 1)
    after                           z = f16(f32(x) * 2 + 1)

A rounding that decides something stays: a value that is compared, or rounded to a whole number, is
what it would be in memory. So does what the model itself casts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hidet.compute import At, Computed, Grid, Reduce
from hidet.fusion.group import NARROW
from hidet.ir.expr import Cast, Expr, Math, Maximum, Minimum, Negate, Select
from hidet.ir.functions import NEAR, call
from hidet.ir.walk import postorder
from hidet.types import DType, f32


class Unrounded:
    """Definitions over grids of which some may be read as float32."""

    def __init__(self) -> None:
        self.made: set[Grid] = set()
        """Grids of tensors: definitions are looked through as far as these."""
        self.free: set[Grid] = set()
        """Those of them whose rounding no one but readers in the same kernel could see."""
        self.wide: dict[Computed, Computed] = {}

    def know(self, grids: Collection[Grid]) -> None:
        """Take grids for those of tensors, read as they are."""
        self.made.update(grids)

    def let_free(self, grid: Grid) -> None:
        """Let readers have a grid in float32 if it is narrow and made element by element."""
        if isinstance(grid, Computed) and grid.dtype in NARROW:
            self.free.add(grid)

    def rounding(self, wide: Grid, to: DType) -> Grid:
        """`wide` rounded, which readers may have as it was."""
        narrow = wide.cast(to)
        self.know([narrow])
        self.let_free(narrow)
        return narrow

    def read_wide(self, grid: Grid, operands: Sequence[Grid]) -> Grid:
        """A definition over `operands`, with those read in float32 that may be."""
        if self.free.isdisjoint(operands) or not isinstance(grid, Computed):
            return grid
        return Reading(self).grid(grid)

    def widened(self, grid: Computed) -> Computed:
        """A free grid in float32."""
        if grid not in self.wide:
            self.wide[grid] = Reading(self).widened(grid)
        return self.wide[grid]


class Reading:
    """One definition being rewritten, each node of it once."""

    def __init__(self, unrounded: Unrounded) -> None:
        self.unrounded = unrounded
        self.same: dict[Expr, Expr] = {}
        self.wide: dict[Expr, Expr] = {}
        self.grids: dict[tuple[Computed, bool], Computed] = {}

    def grid(self, grid: Computed) -> Computed:
        """The same values in the same type, of operands in float32."""
        return self.with_value(grid, False)

    def widened(self, grid: Computed) -> Computed:
        """The values before they are rounded."""
        return self.with_value(grid, True)

    def with_value(self, grid: Computed, wide: bool) -> Computed:
        """A grid with its value rewritten; all who read it read the same one."""
        if (grid, wide) not in self.grids:
            value = self.wider(grid.value) if wide else self.expr(grid.value)
            same = value is grid.value
            new = grid if same else Computed(grid.shape, grid.vars, value, grid.name)
            self.grids[grid, wide] = new
        return self.grids[grid, wide]

    def expr(self, e: Expr) -> Expr:
        """The same value, of operands in float32."""
        if e not in self.same:
            self.same[e] = self.rewritten(e)
        return self.same[e]

    def wider(self, e: Expr) -> Expr:
        """A narrow value in float32, before it is rounded."""
        if e not in self.wide:
            self.wide[e] = self.before_rounding(e)
        return self.wide[e]

    def rewritten(self, e: Expr) -> Expr:
        """What `expr` gives, worked out."""
        match e:
            case Cast(value) if e.to is f32 and value.type in NARROW:
                return self.wider(value)
            case At(grid, index):
                if isinstance(grid, Computed) and grid not in self.unrounded.made:
                    grid = self.grid(grid)
                return At(grid, tuple(map(self.expr, index)))
        return e.map_children(self.child)

    def child(self, node: object) -> object:
        """A part of an expression."""
        return self.expr(node) if isinstance(node, Expr) else node

    def near(self, value: Expr, to: DType) -> Expr:
        """A value that was to be rounded: of functions a few bits more than that are enough."""
        inside = postorder(value, set(self.unrounded.made))
        return call(NEAR[to], value) if any(isinstance(e, Math) for e in inside) else value

    def before_rounding(self, e: Expr) -> Expr:
        """What `wider` gives, worked out: what only picks one of several values passes it on."""
        match e:
            case Cast(value) if value.type is f32:
                return self.near(self.expr(value), e.dtype)
            case At(grid, index) if isinstance(grid, Computed):
                place = tuple(map(self.expr, index))
                if grid in self.unrounded.free:
                    return At(self.unrounded.widened(grid), place)
                if grid not in self.unrounded.made:
                    return At(self.widened(grid), place)
            case Select(condition, a, b):
                return Select(self.expr(condition), self.wider(a), self.wider(b))
            case Maximum(a, b) | Minimum(a, b):
                return type(e)(self.wider(a), self.wider(b))
            case Negate(a):
                return Negate(self.wider(a))
            case Reduce(names, extents, value, how) if how in ("min", "max"):
                return Reduce(names, extents, self.wider(value), how)
        return Cast(self.expr(e), f32)
