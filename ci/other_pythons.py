"""Which of core's tests run on one Python only: what they find cannot differ between Pythons.

The others do: whatever reads users' functions, calls, pickles, starts processes or threads, or
meets files, the driver and compilers. Nor is the Python that operators and graph passes are made
of left out: `test_every_operator.py` of `ops` and of `optimize` run everywhere.
"""

from __future__ import annotations


def files(folder: str, names: str) -> tuple[str, ...]:
    """Test files of a folder, by what comes between `test_` and `.py`."""
    return tuple(f"{folder}/test_{name}.py" for name in names.split())


KERNELS = (
    *("codegen", "fusion", "gpu", "intrinsics", "lang/cuda", "schedules"),
    *files("build", "ahead correctness in_place instruction_sets invariant concats"),
    *files("build", "data_sizes_in_bodies tuned variants"),
    *files("optimize", "assign_layout integer_matmuls lower_precision merge_gates"),
    *files("optimize", "recurrent_cells"),
    *files("ops", "compact factors householder integer_matmul linalg loops narrow_casts"),
    *files("ops", "narrow_types non_max_suppression recurrent resize selection signal"),
    *files("ops", "singular slicing special tree_ensemble unique"),
    *files("passes", "narrow_casts pipeline transpose_tiles"),
    *files("sim", "catalogue plan wgmma"),
    *files("testing", "frontend_contract fuzz"),
    *files("tuning", "testbed"),
)
"""Texts of kernels and what they compute."""

NUMBERS = (
    *files("ir", "algebra bounds ranges"),
    *files("mapping", "algebra fragments layout"),
    *files("runtime", "arena maps order reuse"),
)
"""Laws of integers, tried with many."""


def left_out(tests: str) -> list[str]:
    """pytest's arguments that leave these out of the folder `tests`."""
    return [f"--ignore={tests}/{each}" for each in (*KERNELS, *NUMBERS)]
