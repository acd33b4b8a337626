"""Which of core's tests run on one Python only: what they find cannot differ between Pythons.

The others do: whatever reads users' functions, calls, pickles, starts processes or threads, or
meets files, the driver and compilers.
"""

from __future__ import annotations

KERNELS = (
    "codegen",
    "fusion",
    "gpu",
    "intrinsics",
    "lang/cuda",
    "schedules",
    *(f"build/test_{each}.py" for each in ("ahead", "correctness", "in_place", "joins", "tuned")),
    *(f"optimize/test_{each}.py" for each in ("assign_layout", "every_operator")),
    "ops/test_every_operator.py",
    "passes/test_pipeline.py",
    *(f"sim/test_{each}.py" for each in ("catalogue", "plan", "wgmma")),
    "testing/test_fuzz.py",
    "tuning/test_testbed.py",
)
"""Texts of kernels and what they compute."""

NUMBERS = (
    *(f"ir/test_{each}.py" for each in ("algebra", "bounds", "ranges")),
    *(f"mapping/test_{each}.py" for each in ("algebra", "layout")),
    *(f"runtime/test_{each}.py" for each in ("arena", "maps", "order", "reuse")),
)
"""Laws of integers, tried with many."""


def left_out(tests: str) -> list[str]:
    """pytest's arguments that leave these out of the folder `tests`."""
    return [f"--ignore={tests}/{each}" for each in (*KERNELS, *NUMBERS)]
