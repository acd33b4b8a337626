import math

import pytest
import torch

from benchmarks.measure.accuracy import first_tensor, reference, relative_error


def test_relative_error_is_the_length_of_the_difference():
    expected = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert relative_error(torch.tensor([3.0, 4.5]), expected) == pytest.approx(0.1)
    assert math.isnan(relative_error(torch.tensor([3.0, math.nan]), expected))


def test_reference_is_float64_even_where_the_model_asks_for_float32():
    class Narrow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1 / 3]))

        def forward(self, x):
            return (x.to(torch.float32) * self.weight).float() / 3

    model = Narrow()
    out = reference(model, (torch.tensor([1.0]),))
    assert out.dtype == torch.float64
    assert out.item() == model.weight.item() / 3
    assert model.weight.dtype == torch.float32


def test_first_tensor_of_nested_outputs():
    x = torch.ones(2)
    assert first_tensor(([x, None], 3)) is x
