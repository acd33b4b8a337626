"""PyTorch's operators on about a megabyte each, beside eager, on one thread of a CPU.

    python -m benchmarks.operators_torch                      # all that are compiled: half an hour
    python -m benchmarks.operators_torch "grid_sample|ndtri"  # those whose names match

The calls are PyTorch's own samples (`op_db`), enlarged. Both take turns, each by the time that the
process is at work. What Dynamo takes to find a compiled graph is left out: it is PyTorch's own, and
grows with the arguments that are no tensors, of which samples have many.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.enlarged import Enlarged, enlarged
from benchmarks.measure.beside import Timed, compared, failed, program
from benchmarks.measure.machine import headline, machine
from ci.operator_suite.cases import operators
from ci.operator_suite.known import FILE
from ci.operator_suite.score import DYNAMO
from ci.suites import known
from hidet_torch.backend import hidet


def timed(name: str, seconds: float) -> Timed:
    """The times of an operator, in a process beside others, each on tensors of its own."""
    torch.set_num_threads(1)
    torch._dynamo.reset()
    with warnings.catch_warnings(), torch.no_grad(), torch._dynamo.config.patch(DYNAMO):
        warnings.simplefilter("ignore")
        try:
            call = enlarged(operators()[name])
            eager = call.bound(call.copies())
            return compared(name, eager, compiled(call), call.nbytes, seconds)
        except Exception as error:  # one operator's failure is its row
            return failed(name, error)


def compiled(call: Enlarged) -> Callable[[], Any]:
    """The compiled graph of a call on the arguments that Dynamo gives it."""
    given: list[Any] = []

    def backend(graph_module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        made = hidet(graph_module, examples)

        def run(*args: Any) -> Any:
            given[:] = [lambda: made(*args)]
            return made(*args)

        return run

    torch.compile(call, backend=backend, fullgraph=True, dynamic=False)(call.copies())
    (again,) = given
    return again


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    left = [name for kind in known.read(FILE).values() for name in kind]
    names = [each for each in operators() if each not in left]
    print(headline(machine("cpu")))
    print(f"\n{program(__doc__, names, timed, 'eager', arguments)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
