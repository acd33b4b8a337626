import itertools

import pytest
import torch

from hidet.errors import NotYet
from hidet.graph import symbol
from hidet_torch.memory.dtypes import TO_HIDET, TO_TORCH, hidet_dtype, result_type

COMMON = [
    torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32, torch.float64,
]  # fmt: skip


@pytest.mark.parametrize("ranks", [(1, 1), (1, 0), (0, 1), (0, 0)], ids=str)
def test_tensors_mix_as_in_pytorch(ranks: tuple[int, int]) -> None:
    for a, b in itertools.product(COMMON, COMMON):
        shapes = [(2,) * rank for rank in ranks]
        own = torch.result_type(torch.ones(shapes[0], dtype=a), torch.ones(shapes[1], dtype=b))
        found = result_type(symbol(shapes[0], TO_HIDET[a]), symbol(shapes[1], TO_HIDET[b]))
        assert found is TO_HIDET[own], (a, b)


@pytest.mark.parametrize("number", [True, 3, 2.5])
def test_numbers_mix_as_in_pytorch(number: float) -> None:
    for a, shape in itertools.product(COMMON, [(2,), ()]):
        own = torch.result_type(torch.ones(shape, dtype=a), number)
        assert result_type(symbol(shape, TO_HIDET[a]), number) is TO_HIDET[own], a


def test_types_go_there_and_back() -> None:
    for own, hidet in TO_HIDET.items():
        assert TO_TORCH[hidet] is own
    assert hidet_dtype(torch.complex64) is TO_HIDET[torch.float32]
    with pytest.raises(NotYet):
        hidet_dtype(torch.qint8)
