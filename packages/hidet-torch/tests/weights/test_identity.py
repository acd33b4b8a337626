"""Guards on weights: the very same object, and nobody prints it."""

import pytest
import torch
from torch import nn
from torch._dynamo import guards
from torch._dynamo.guards import GuardBuilder


@pytest.fixture
def printed(monkeypatch):
    """The tensors that PyTorch prints, with guards that print what they match, as 2.11's do."""
    seen = []
    text = torch._tensor_str._str
    monkeypatch.setattr(
        torch._tensor_str, "_str", lambda x, **given: (seen.append(x), text(x, **given))[1]
    )
    before = GuardBuilder.id_match_unchecked
    code = "def id_match(self, guard, *a): repr(self.get(guard)); return before(self, guard, *a)"
    names = {"__builtins__": __builtins__}
    monkeypatch.setitem(vars(guards), "before", before)
    exec(code, vars(guards), names)
    monkeypatch.setattr(GuardBuilder, "id_match_unchecked", names["id_match"])
    return seen


@torch.no_grad()
def test_guards_do_not_print_weights(printed):
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3)).eval()
    compiled = torch.compile(model, backend="hidet")
    x = torch.ones(2, 8)
    torch.testing.assert_close(compiled(x), model(x))
    assert printed == []
    assert "repr" not in vars(guards)


@torch.no_grad()
def test_another_weight_is_another_model(printed):
    model = nn.Linear(8, 4).eval()
    compiled = torch.compile(model, backend="hidet")
    x = torch.ones(2, 8)
    compiled(x)
    model.weight = nn.Parameter(torch.full((4, 8), 2.0))
    torch.testing.assert_close(compiled(x), model(x))
