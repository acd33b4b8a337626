"""Who does what, and where data lies: pure arithmetic on integers and on expressions alike."""

from hidet.mapping.algebra import (
    Loops,
    Nested,
    Repeat,
    Spatial,
    TaskMapping,
    Tasks,
    col_repeat,
    col_spatial,
    repeat,
    row_repeat,
    row_spatial,
    spatial,
)
from hidet.mapping.check import bank_conflicts, is_partition, overlaps
from hidet.mapping.choose import auto_map
from hidet.mapping.draw import draw, draw_svg
from hidet.mapping.layout import (
    Layout,
    column_major,
    complement,
    compose,
    divide,
    left_inverse,
    product,
    right_inverse,
    row_major,
)
from hidet.mapping.restrict import Predicated, Projected, predicated, project
from hidet.mapping.swizzle import Swizzle, SwizzledLayout

__all__ = [
    "Layout",
    "Loops",
    "Nested",
    "Predicated",
    "Projected",
    "Repeat",
    "Spatial",
    "Swizzle",
    "SwizzledLayout",
    "TaskMapping",
    "Tasks",
    "auto_map",
    "bank_conflicts",
    "col_repeat",
    "col_spatial",
    "column_major",
    "complement",
    "compose",
    "divide",
    "draw",
    "draw_svg",
    "is_partition",
    "left_inverse",
    "overlaps",
    "predicated",
    "product",
    "project",
    "repeat",
    "right_inverse",
    "row_major",
    "row_repeat",
    "row_spatial",
    "spatial",
]
