"""Recurrent layers: RNN, GRU and LSTM, in one direction or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.types import i64
from hidet_onnx.converters.table import onnx
from hidet_onnx.converters.turns import scanned

Function = Callable[[Tensor], Tensor]


def affine(x: Tensor, alpha: float, beta: float) -> Tensor:
    """alpha * x + beta."""
    return ops.add(ops.multiply(x, alpha), beta)


FUNCTIONS: dict[str, tuple[Callable[[Tensor, float, float], Tensor], float, float]] = {
    "relu": (lambda x, a, b: ops.relu(x), 0, 0),
    "tanh": (lambda x, a, b: ops.tanh(x), 0, 0),
    "sigmoid": (lambda x, a, b: ops.sigmoid(x), 0, 0),
    "softsign": (lambda x, a, b: ops.softsign(x), 0, 0),
    "softplus": (lambda x, a, b: ops.softplus(x, threshold=40.0), 0, 0),
    "affine": (affine, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: ops.leaky_relu(x, a), 0.01, 0),
    "thresholdedrelu": (lambda x, a, b: ops.threshold(x, a, 0.0), 1.0, 0),
    "scaledtanh": (lambda x, a, b: ops.multiply(ops.tanh(ops.multiply(x, b)), a), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: ops.clamp(affine(x, a, b), 0.0, 1.0), 0.2, 0.5),
    "elu": (lambda x, a, b: ops.elu(x, a), 1.0, 0),
}
"""Functions by name, with the alpha and beta that they have by default."""
TAKES = {"affine": 2, "leakyrelu": 1, "thresholdedrelu": 1, "scaledtanh": 2, "hardsigmoid": 2,
         "elu": 1}  # fmt: skip
"""How many numbers of `activation_alpha` and `activation_beta` a function takes, if any."""


@dataclass
class Layer:
    """What the operators share; its methods give the parts of one direction after the other."""

    hidden: int
    direction: str
    names: Sequence[str]
    alphas: Sequence[float]
    betas: Sequence[float]
    clip: float | None
    layout: int
    functions: list[Function] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.direction not in ("forward", "reverse", "bidirectional"):
            raise BadArgument(f"there is no direction {self.direction!r}")
        alphas, betas = list(self.alphas), list(self.betas)
        for name in self.names:
            self.functions.append(self.function(name.lower(), alphas, betas))

    def function(self, name: str, alphas: list[float], betas: list[float]) -> Function:
        """An activation, clipped before, with the next of the numbers that the model gives."""
        if name not in FUNCTIONS:
            raise BadArgument(f"there is no activation {name!r}", help=", ".join(FUNCTIONS))
        compute, alpha, beta = FUNCTIONS[name]
        if TAKES.get(name, 0) > 0 and alphas:
            alpha = alphas.pop(0)
        if TAKES.get(name, 0) > 1 and betas:
            beta = betas.pop(0)
        bound = self.clip

        def apply(x: Tensor) -> Tensor:
            return compute(x if bound is None else ops.clamp(x, -bound, bound), alpha, beta)

        return apply

    @property
    def reversed(self) -> tuple[bool, ...]:
        """For each direction whether it runs from the end."""
        return (False, True) if self.direction == "bidirectional" else (
            (self.direction == "reverse",)
        )  # fmt: skip

    def of(self, direction: int) -> list[Function]:
        """The activations of a direction."""
        each = len(self.functions) // len(self.reversed)
        return self.functions[direction * each : (direction + 1) * each]


def time_first(x: Tensor | None, layout: int) -> Tensor | None:
    """A tensor whose first two axes are swapped if the batch comes first."""
    return ops.transpose(x, 0, 1) if x is not None and layout else x


def part(x: Tensor | None, direction: int) -> Tensor | None:
    """What belongs to one direction."""
    return None if x is None else ops.select(x, 0, direction)


Cell = Callable[..., list[Tensor]]
"""The next state of (the projected input, *state)."""


def run(
    layer: Layer, x: Tensor, lengths: Tensor | None, states: Sequence[Tensor | None],
    cells: Callable[[int], tuple[Callable[[Tensor], Tensor], Cell]],
) -> tuple[Tensor, ...]:  # fmt: skip
    """All outputs, then the last state; `cells` gives for a direction how the input is projected,
    and the cell."""
    ahead = time_first(x, layer.layout)
    assert ahead is not None
    rows, last = [], []
    for direction, is_reversed in enumerate(layer.reversed):
        turned = backward(ahead, lengths) if is_reversed else ahead
        project, cell = cells(direction)
        shape = (ahead.shape[1], layer.hidden)
        given = [part(time_first(each, layer.layout), direction) for each in states]
        zero = ops.zeros(shape, x.dtype, device=x.device)
        start = [zero if each is None else each for each in given]
        found, state = steps(project(turned), start, lengths, cell)
        rows.append(backward(found, lengths) if is_reversed else found)
        last.append(state)
    outputs = ops.stack(rows, 1)
    final = [ops.stack(each, 0) for each in zip(*last, strict=True)]
    if layer.layout:
        return (ops.permute(outputs, (2, 0, 1, 3)), *(ops.transpose(each, 0, 1) for each in final))
    return (outputs, *final)


def backward(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x[time, batch, ...] from the end, which is each sample's own."""
    return ops.flip(x, 0) if lengths is None else ops.reverse_sequence(x, lengths)


def steps(
    x: Tensor, start: Sequence[Tensor], lengths: Tensor | None, cell: Cell
) -> tuple[Tensor, list[Tensor]]:
    """What the first of the states is after each step, and all states after the last one.

    A sample that has ended keeps its states, and its outputs are zero.
    """
    if lengths is None:

        def plain(*given: Tensor) -> tuple[list[Tensor], list[Tensor]]:
            *state, row = given
            following = cell(row, *state)
            return following, following[:1]

        last, (rows,) = scanned(plain, start, [x])
        return rows, last
    number = ops.reshape(ops.iota(x.shape[0], device=x.device), (-1, 1, 1))
    goes_on = ops.less(number, ops.reshape(ops.cast(lengths, i64), (1, -1, 1)))

    def masked(*given: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        *state, row, mask = given
        found = cell(row, *state)
        following = [ops.where(mask, a, b) for a, b in zip(found, state, strict=True)]
        return following, [ops.where(mask, found[0], ops.zeros_like(found[0]))]

    last, (rows,) = scanned(masked, start, [x, goes_on])
    return rows, last


def projection(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """The input's part of all gates at once, for all steps."""
    return lambda x: ops.linear(x, weight, bias)


def halves(bias: Tensor | None, size: int) -> tuple[Tensor | None, Tensor | None]:
    """The bias of the input and that of the state."""
    if bias is None:
        return None, None
    return ops.slice(bias, 0, 0, size), ops.slice(bias, 0, size)


def hidden_of(recurrent: Tensor) -> int:
    """The size of the state."""
    size = recurrent.shape[-1]
    if not isinstance(size, int):
        raise BadArgument("the size of a recurrent layer's state has to be known")
    return size


@onnx("RNN", since=1)
def rnn(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
    initial_h: Tensor | None = None, *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] = ("Tanh", "Tanh"), clip: float | None = None,
    direction: str = "forward", hidden_size: int | None = None, layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """h = f(x W^T + h R^T + b), for each step; all h, and the last one."""
    size = hidden_of(r)
    names = activations if direction == "bidirectional" else activations[:1]
    layer = Layer(
        size, direction, names, activation_alpha or (), activation_beta or (), clip, layout
    )

    def cells(number: int) -> tuple[Callable[[Tensor], Tensor], Cell]:
        (f,) = layer.of(number)
        weight, state_weight = ops.select(w, 0, number), ops.select(r, 0, number)
        own, of_state = halves(part(b, number), size)

        def cell(row: Tensor, h: Tensor) -> list[Tensor]:
            return [f(ops.add(row, ops.linear(h, state_weight, of_state)))]

        return projection(weight, own), cell

    return run(layer, x, lengths, [initial_h], cells)


@onnx("GRU", since=1)
def gru(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
    initial_h: Tensor | None = None, *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None, activations: Sequence[str] | None = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    layout: int = 0, linear_before_reset: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """A state that gates keep (z) and reset (r), for each step; all states, and the last one."""
    size = hidden_of(r)
    names = activations or ("Sigmoid", "Tanh") * (2 if direction == "bidirectional" else 1)
    layer = Layer(
        size, direction, names, activation_alpha or (), activation_beta or (), clip, layout
    )

    def cells(number: int) -> tuple[Callable[[Tensor], Tensor], Cell]:
        f, g = layer.of(number)
        weight, state_weight = ops.select(w, 0, number), ops.select(r, 0, number)
        own, of_state = halves(part(b, number), 3 * size)
        gate_weight = ops.slice(state_weight, 0, 0, 2 * size)
        new_weight = ops.slice(state_weight, 0, 2 * size)
        gate_bias = None if of_state is None else ops.slice(of_state, 0, 0, 2 * size)
        new_bias = None if of_state is None else ops.slice(of_state, 0, 2 * size)

        def cell(row: Tensor, h: Tensor) -> list[Tensor]:
            gates = ops.add(ops.slice(row, 1, 0, 2 * size), ops.linear(h, gate_weight, gate_bias))
            keep, reset = (f(each) for each in ops.split(gates, size, 1))
            if linear_before_reset:
                from_state = ops.multiply(reset, ops.linear(h, new_weight, new_bias))
            else:
                from_state = ops.linear(ops.multiply(reset, h), new_weight, new_bias)
            new = g(ops.add(ops.slice(row, 1, 2 * size), from_state))
            mixed = ops.multiply(ops.subtract(1.0, keep), new)
            return [ops.add(mixed, ops.multiply(keep, h))]

        return projection(weight, own), cell

    return run(layer, x, lengths, [initial_h], cells)


@onnx("LSTM", since=1)
def lstm(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
    initial_h: Tensor | None = None, initial_c: Tensor | None = None, p: Tensor | None = None, *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None, activations: Sequence[str] | None = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    input_forget: int = 0, layout: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """A state behind gates, and a cell, for each step; all states, the last one, the last cell."""
    size = hidden_of(r)
    names = activations or ("Sigmoid", "Tanh", "Tanh") * (2 if direction == "bidirectional" else 1)
    layer = Layer(
        size, direction, names, activation_alpha or (), activation_beta or (), clip, layout
    )

    def cells(number: int) -> tuple[Callable[[Tensor], Tensor], Cell]:
        f, g, h_of = layer.of(number)
        weight, state_weight = ops.select(w, 0, number), ops.select(r, 0, number)
        own, of_state = halves(part(b, number), 4 * size)
        peep = part(p, number)
        peepholes = None if peep is None else ops.split(peep, size, 0)

        def peeped(gate: Tensor, cell: Tensor, number: int) -> Tensor:
            if peepholes is None:
                return gate
            return ops.add(gate, ops.multiply(peepholes[number], cell))

        def step(row: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
            gates = ops.add(row, ops.linear(h, state_weight, of_state))
            into, out, forget, new = ops.split(gates, size, 1)
            i = f(peeped(into, c, 0))
            kept = ops.subtract(1.0, i) if input_forget else f(peeped(forget, c, 2))
            cell = ops.add(ops.multiply(kept, c), ops.multiply(i, g(new)))
            o = f(peeped(out, cell, 1))
            return [ops.multiply(o, h_of(cell)), cell]

        return projection(weight, own), step

    return run(layer, x, lengths, [initial_h, initial_c], cells)
