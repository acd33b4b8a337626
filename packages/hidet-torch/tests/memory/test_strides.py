import torch

from hidet.types.strides import inverse
from hidet_torch.memory.strides import order_of


def test_rows_of_any_order_are_found() -> None:
    x = torch.empty(2, 3, 4, 5)
    assert order_of(x) == (0, 1, 2, 3)
    assert order_of(x.permute(0, 3, 1, 2)) == (0, 2, 3, 1)
    assert order_of(x.to(memory_format=torch.channels_last)) == (0, 2, 3, 1)
    assert order_of(torch.empty(3, 1).t()) == (0, 1)
    assert order_of(torch.empty(0, 3).t()) == (0, 1)
    assert order_of(torch.empty(())) == ()


def test_gaps_and_repetitions_have_no_order() -> None:
    assert order_of(torch.empty(6, 4)[::2]) is None
    assert order_of(torch.empty(1, 4).expand(3, 4)) is None


def test_inverse_undoes() -> None:
    x = torch.empty(2, 3, 4)
    order = (2, 0, 1)
    assert x.permute(order).permute(inverse(order)).shape == x.shape
