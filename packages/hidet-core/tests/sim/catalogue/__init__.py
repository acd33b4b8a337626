"""Wrong kernels and their corrected twins, as data: `CASES`.

Each file holds mistakes of one family. What is expected of each is tested by `test_catalogue.py`;
`ci/sanitize.py` runs the same kernels on a GPU under compute-sanitizer.
"""

from catalogue import (
    bounds,
    clusters,
    collectives,
    copies,
    deliveries,
    global_races,
    grids,
    mbarriers,
    meetings,
    outputs,
    products,
    registers,
    rings,
    roles,
    shared_races,
    stores,
    tensors,
    undefined,
)
from catalogue.case import CASES, Case

FAMILIES = (
    bounds,
    clusters,
    undefined,
    shared_races,
    global_races,
    copies,
    deliveries,
    rings,
    roles,
    mbarriers,
    stores,
    tensors,
    collectives,
    meetings,
    grids,
    outputs,
    products,
    registers,
)

__all__ = ["CASES", "FAMILIES", "Case"]
