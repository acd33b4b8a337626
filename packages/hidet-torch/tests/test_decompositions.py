from __future__ import annotations

import torch

from hidet_torch.decompositions import KEEP, decompositions, exported_decompositions


def test_exported_programs_are_told_of_composites_that_autograd_takes_apart_itself() -> None:
    short, long = decompositions(), exported_decompositions()
    assert short.items() <= long.items()
    only = long.keys() - short.keys()
    assert torch.ops.aten.einsum.default in only
    key = "CompositeImplicitAutograd"
    for op in only:
        by_python = any(str(each).endswith(key) for each in op.py_kernels)
        assert by_python or torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key), op


def test_what_stays_whole_is_in_no_table() -> None:
    names = {op._schema.name.split("::")[1] for op in exported_decompositions()}
    assert not names & KEEP


def test_a_table_is_the_callers() -> None:
    decompositions().clear()
    assert decompositions()
