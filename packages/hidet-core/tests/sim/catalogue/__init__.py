"""Wrong kernels and their corrected twins, as data: `CASES`.

Each file holds mistakes of one family. What is expected of each is tested by `test_catalogue.py`;
`ci/sanitize.py` runs the same kernels on a GPU under compute-sanitizer.
"""

from catalogue import (
    bounds,
    collectives,
    copies,
    global_races,
    meetings,
    outputs,
    shared_races,
    undefined,
)
from catalogue.case import CASES, Case

FAMILIES = (
    bounds,
    undefined,
    shared_races,
    global_races,
    copies,
    collectives,
    meetings,
    outputs,
)

__all__ = ["CASES", "FAMILIES", "Case"]
