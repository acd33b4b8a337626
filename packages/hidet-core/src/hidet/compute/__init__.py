"""Definitions: what each element of a tensor is, as expressions; what kind of map that is.

`hidet.compute.functions` has exp, sqrt and the like.
"""

from hidet.compute.classify import Kind, accesses, classify, has_reduction, inputs
from hidet.compute.definition import Definition
from hidet.compute.evaluate import evaluate
from hidet.compute.functions import select
from hidet.compute.grid import (
    At,
    Computed,
    Grid,
    Input,
    Scan,
    Scatter,
    elementwise,
    grid,
    scan,
    scatter,
)
from hidet.compute.inline import element, inline
from hidet.compute.pointwise import maximum, minimum
from hidet.compute.reduction import (
    ArgReduce,
    Reduce,
    accumulator,
    arg_reduce,
    arithmetic,
    reduce,
    sum_accumulator,
    truth,
)

__all__ = [
    "ArgReduce",
    "At",
    "Computed",
    "Definition",
    "Grid",
    "Input",
    "Kind",
    "Reduce",
    "Scan",
    "Scatter",
    "accesses",
    "accumulator",
    "arg_reduce",
    "arithmetic",
    "classify",
    "element",
    "elementwise",
    "evaluate",
    "grid",
    "has_reduction",
    "inline",
    "inputs",
    "maximum",
    "minimum",
    "reduce",
    "scan",
    "scatter",
    "select",
    "sum_accumulator",
    "truth",
]
