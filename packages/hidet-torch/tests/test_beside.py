"""What `hidet bench` compares a PyTorch model with."""

import torch

from hidet_torch.beside import systems


def test_eager_comes_first_and_nothing_records_gradients(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda model: model)
    x = torch.ones(3, requires_grad=True)
    found = systems(lambda x: x * 2)
    assert list(found) == ["eager", "inductor"]
    for run in found.values():
        result = run(x)
        assert not result.requires_grad
        assert result.tolist() == [2.0, 2.0, 2.0]
