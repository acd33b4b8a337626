"""ONNX's operators on about a megabyte each, beside ONNX Runtime, on one thread of a CPU.

    python -m benchmarks.onnx_operators                 # all that are compiled: half an hour
    python -m benchmarks.onnx_operators "resize|topk"   # those cases whose names match

The models are ONNX's own node test cases, enlarged. Both take turns, each by the time that the
process is at work, and have to compute the same.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import hidet_onnx
from benchmarks.enlarged_onnx import enlarged, is_measurable
from benchmarks.measure.beside import Timed, compared, failed, program
from benchmarks.measure.machine import headline, machine
from ci.onnx_suite.cases import cases
from ci.onnx_suite.known import FILE
from ci.suites import known

OTHERS = "_expanded|bernoulli|dropout|random"
"""Cases that are another's written out, or that draw numbers."""
TOLERANCE = 1e-2
"""How far results may be apart, of the largest."""


def timed(name: str, seconds: float) -> Timed:
    """The times of a case, in a process beside others."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model, data = cases()[name].load()
            call = enlarged(model, data[0][0])
            session, ours = call.session(), hidet_onnx.compile(call.model)
            feeds, given = dict(call.inputs), [*call.inputs.values()]
            require_alike(session.run(None, feeds), ours.run(given))
            theirs = lambda: session.run(None, feeds)  # noqa: E731
            return compared(name, theirs, lambda: ours.run(given), call.nbytes, seconds)
        except Exception as error:  # one case's failure is its row
            return failed(name, error)


def require_alike(theirs: Sequence[Any], ours: Sequence[Any]) -> None:
    """Raise ValueError unless both are about the same."""
    for a, b in zip(theirs, ours, strict=True):
        if a.shape != b.shape:
            raise ValueError(f"shapes are {b.shape}, not {a.shape}")
        a, b = (np.asarray(each).astype(np.float64) for each in (a, b))
        largest = np.nanmax(np.abs(a), initial=0.0, where=np.isfinite(a))
        same = np.isclose(b, a, rtol=TOLERANCE, atol=TOLERANCE * largest, equal_nan=True)
        if not same.all():
            raise ValueError(f"{1 - same.mean():.2%} of elements differ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    left = [name for kind in known.read(FILE).values() for name in kind]
    names = [
        name
        for name, case in cases().items()
        if case.kind == "node"
        and name not in left
        and not re.search(OTHERS, name)
        and is_measurable(case.source.model)
    ]
    print(headline(machine("cpu")))
    print(f"\n{program(__doc__, names, timed, 'ONNX Runtime', arguments)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
