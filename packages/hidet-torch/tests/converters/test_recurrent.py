"""Recurrent layers stay whole, and are loops of any length."""

import copy

import pytest
import torch

import hidet_torch

KINDS = {
    "lstm": torch.nn.LSTM,
    "gru": torch.nn.GRU,
    "rnn": torch.nn.RNN,
    "relu": lambda *sizes, **more: torch.nn.RNN(*sizes, nonlinearity="relu", **more),
}


def compare(model, *calls, **how):
    """One compiled model gives for all calls what PyTorch gives, near what float64 is."""
    compiled = hidet_torch.compile(model, *calls[0], **how)
    wide = copy.deepcopy(model).double()
    for given in calls:
        with torch.no_grad():
            found, wanted = compiled(*given), model(*given)
            exact = wide(*(each.double() for each in given))
        for one, other, true in zip(flat(found), flat(wanted), flat(exact), strict=True):
            error, theirs = ((each.double() - true).abs().max().item() for each in (one, other))
            assert one.shape == other.shape
            assert error <= max(4 * theirs, 4e-7)
    return compiled


def flat(tree):
    return torch.utils._pytree.tree_leaves(tree)


def layer(kind, *sizes, **more):
    torch.manual_seed(0)
    return KINDS[kind](*sizes, **more).eval().requires_grad_(False)


def steps(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("kind", KINDS)
def test_layers_in_both_directions(kind):
    compare(layer(kind, 5, 7, bidirectional=True, num_layers=2), (steps(9, 2, 5),))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_layers_without_biases(kind):
    compare(layer(kind, 5, 7, bias=False), (steps(3, 1, 5),))


def test_the_batch_may_come_first_or_be_missing():
    compare(layer("gru", 3, 2, batch_first=True), (steps(1, 129, 3),))
    compare(layer("rnn", 3, 1), (steps(6, 3),))


def test_a_state_may_be_given_and_be_smaller_than_the_cell():
    class Given(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer("lstm", 4, 6, proj_size=3)

        def forward(self, x, h, c):
            return self.layer(x, (h, c))

    compare(Given(), (steps(7, 2, 4), steps(1, 2, 3), steps(1, 2, 6)))


def test_a_call_says_how_many_samples_there_are():
    """The number of steps is fixed: torch.export counts them where it works out shapes."""
    batch = torch.export.Dim("batch", min=2)
    calls = [(steps(5, n, 4),) for n in (4, 2, 9)]
    compare(layer("lstm", 4, 7), *calls, dynamic_shapes=({1: batch},))


def test_steps_are_a_loop_and_no_kernels_of_their_own():
    compiled = compare(layer("lstm", 8, 8), (steps(200, 1, 8),))
    assert [node.op.name for node in compiled.graph().nodes].count("loop") == 1
