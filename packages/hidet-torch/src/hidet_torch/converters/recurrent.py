"""Recurrent layers: LSTM, GRU and RNN, any number of layers, in one direction or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import aten, require, torch

Step = Callable[..., list[Tensor]]
"""The next state of (the projected input, *state)."""


@dataclass(frozen=True)
class Weights:
    """Those of one layer in one direction, in PyTorch's order of gates."""

    of_input: Tensor
    of_state: Tensor
    bias: Tensor | None = None
    state_bias: Tensor | None = None
    projection: Tensor | None = None
    """Of an LSTM whose state is smaller than its cell."""


Cell = Callable[[Weights], tuple[Tensor | None, Step]]
"""The bias of the input's projection, and the step."""


@torch(aten.lstm.input)
def lstm(
    x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor], biases: bool, layers: int,
    dropout: float, train: bool, both: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """What the last layer gives for each step, the last states, the last cells."""
    require(not (train and dropout), "dropout between recurrent layers")
    return run(lstm_cell, x, states, weights, biases, layers, both, batch_first)


@torch(aten.gru.input)
def gru(
    x: Tensor, state: Tensor, weights: Sequence[Tensor], biases: bool, layers: int,
    dropout: float, train: bool, both: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """What the last layer gives for each step, and the last states."""
    require(not (train and dropout), "dropout between recurrent layers")
    return run(gru_cell, x, [state], weights, biases, layers, both, batch_first)


def rnn(
    x: Tensor, state: Tensor, weights: Sequence[Tensor], biases: bool, layers: int,
    dropout: float, train: bool, both: bool, batch_first: bool, *,
    function: Callable[[Tensor], Tensor],
) -> tuple[Tensor, ...]:  # fmt: skip
    """What the last layer gives for each step, and the last states."""
    require(not (train and dropout), "dropout between recurrent layers")
    cell = partial(rnn_cell, function=function)
    return run(cell, x, [state], weights, biases, layers, both, batch_first)


torch.rows(
    {
        aten.rnn_tanh.input: partial(rnn, function=ops.tanh),
        aten.rnn_relu.input: partial(rnn, function=ops.relu),
    }
)


def run(
    cell: Cell, x: Tensor, states: Sequence[Tensor], given: Sequence[Tensor], biases: bool,
    layers: int, both: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Layers one after the other: what the last one gives, then all last states, stacked."""
    rows = ops.transpose(x, 0, 1) if batch_first else x
    directions = (False, True) if both else (False,)
    each, last = weights_of(given, biases, layers * len(directions)), []
    for layer in range(layers):
        found = []
        for number, reverse in enumerate(directions):
            weights, place = next(each), layer * len(directions) + number
            bias, step = cell(weights)
            start = [ops.select(state, 0, place) for state in states]
            projected = ops.linear(rows, weights.of_input, bias)
            outputs, state = ops.recurrence(projected, start, step, reverse=reverse)
            found.append(outputs)
            last.append(state)
        rows = ops.concat(found, -1) if both else found[0]
    final = (ops.stack(each, 0) for each in zip(*last, strict=True))
    return (ops.transpose(rows, 0, 1) if batch_first else rows, *final)


def weights_of(given: Sequence[Tensor], biases: bool, count: int) -> Iterator[Weights]:
    """The weights of each layer and direction."""
    each = len(given) // count
    for start in range(0, len(given), each):
        w, r, *others = given[start : start + each]
        bias, state_bias = (others.pop(0), others.pop(0)) if biases else (None, None)
        yield Weights(w, r, bias, state_bias, others[0] if others else None)


def lstm_cell(weights: Weights) -> tuple[Tensor | None, Step]:
    """A state behind gates, and a cell."""
    columns = ops.interleave_gates(weights.of_state, 4)

    def step(row: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
        pairs = zip(ops.chunk(row, 4, -1), ops.gates(h, columns, 4), strict=True)
        i, f, g, o = (ops.add(own, of_state) for own, of_state in pairs)
        kept = ops.multiply(ops.sigmoid(f), c)
        cell = ops.add(kept, ops.multiply(ops.sigmoid(i), ops.tanh(g)))
        state = ops.multiply(ops.sigmoid(o), ops.tanh(cell))
        if weights.projection is not None:
            state = ops.linear(state, weights.projection)
        return [state, cell]

    return both_biases(weights), step


def gru_cell(weights: Weights) -> tuple[Tensor | None, Step]:
    """A state that gates keep (z) and reset (r); what it gives for the new one has its bias."""
    columns = ops.interleave_gates(weights.of_state, 3)
    extra = None if weights.state_bias is None else ops.chunk(weights.state_bias, 3)

    def step(row: Tensor, h: Tensor) -> list[Tensor]:
        own, of_state = ops.chunk(row, 3, -1), ops.gates(h, columns, 3)
        if extra is not None:
            of_state = [ops.add(a, b) for a, b in zip(of_state, extra, strict=True)]
        reset, keep = (ops.sigmoid(ops.add(own[n], of_state[n])) for n in (0, 1))
        new = ops.tanh(ops.add(own[2], ops.multiply(reset, of_state[2])))
        mixed = ops.multiply(ops.subtract(1.0, keep), new)
        return [ops.add(mixed, ops.multiply(keep, h))]

    return weights.bias, step


def rnn_cell(
    weights: Weights, *, function: Callable[[Tensor], Tensor]
) -> tuple[Tensor | None, Step]:
    """A state without gates."""
    columns = ops.interleave_gates(weights.of_state, 1)

    def step(row: Tensor, h: Tensor) -> list[Tensor]:
        (of_state,) = ops.gates(h, columns, 1)
        return [function(ops.add(row, of_state))]

    return both_biases(weights), step


def both_biases(weights: Weights) -> Tensor | None:
    """The sum of the biases of input and state, or none."""
    if weights.bias is None or weights.state_bias is None:
        return None
    return ops.add(weights.bias, weights.state_bias)
