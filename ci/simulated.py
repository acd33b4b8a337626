"""The catalogue in the simulator, a line for each case; compiles its kernels: by `ci.sanitize`.

    python -m ci.simulated [PART PARTS]

takes one case of so many, beginning with case number PART; all if it is not said.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from catalogue import CASES, Case

from hidet import sim
from hidet.build.module import build_module
from hidet.errors import SimulationError

STEPS = 2000
TARGET = "sm_90a"


def main(arguments: Sequence[str]) -> int:
    """Print name, kind, class of error, whether the simulator tells wrong from right, and whether a
    GPU may hang."""
    part, parts = map(int, arguments or ("0", "1"))
    for case in CASES[part::parts]:
        for right in (False, True):
            compiled(case, right)
        seen = caught(case) and passes(case)
        ends = "hangs" if case.may_hang else "ends"
        print(case.name, case.kind, case.fault.__name__, "yes" if seen else "no", ends, sep="\t")
    return 0


def compiled(case: Case, right: bool) -> None:
    """Put a kernel's code into the cache; what has none shows under the tools."""
    try:
        build_module(case.module(right), TARGET)
    except Exception as error:
        print(f"{case.name}, {'right' if right else 'wrong'}: {error}", file=sys.stderr)


def caught(case: Case) -> bool:
    """Whether the mistake is found where it is."""
    try:
        sim.launch(case.module(False), *case.arrays(), step_limit=STEPS)
    except SimulationError as error:
        place = error.place
        return type(error) is case.fault and place is not None and place.line == case.line
    return False


def passes(case: Case) -> bool:
    """Whether the corrected twin runs without an error."""
    try:
        sim.launch(case.module(True), *case.arrays(), step_limit=STEPS)
    except SimulationError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
