import numpy as np
import pytest
import torch
from cases import CASES, Case
from tracing import by_reference, imported, in_double, results

from hidet_torch.memory.dtypes import TO_HIDET


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_import_means_what_eager_does(case: Case) -> None:
    graph = imported(case.function, *case.inputs)
    assert graph.coverage.left == {}
    expected = results(case.function(*map(in_double, case.inputs)))
    eager = results(case.function(*case.inputs))
    found = by_reference(graph, *case.inputs)
    for output, array, exact, own in zip(graph.outputs, found, expected, eager, strict=True):
        assert output.index is not None
        assert graph.graph.outputs[output.index].dtype is TO_HIDET[own.dtype]
        assert array.shape == tuple(own.shape)
        np.testing.assert_allclose(array, exact.numpy(), rtol=1e-5, atol=1e-6)


FLOATING = [
    case for case in CASES if all(getattr(e, "is_floating_point", bool)() for e in case.inputs)
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", FLOATING, ids=lambda case: case.name)
def test_narrow_types_come_out_as_in_eager(case: Case, dtype: torch.dtype) -> None:
    inputs = [each.to(dtype) for each in case.inputs]
    try:
        eager = results(case.function(*inputs))
    except (RuntimeError, NotImplementedError, TypeError) as error:
        pytest.skip(f"PyTorch itself does not: {error}")
    graph = imported(case.function, *inputs)
    assert graph.coverage.left == {}
    for output, own in zip(graph.outputs, eager, strict=True):
        assert output.index is not None
        assert graph.graph.outputs[output.index].dtype is TO_HIDET[own.dtype]
