"""Recurrent layers: RNN, GRU and LSTM, in one direction or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet_onnx.converters.table import onnx

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


Project = Callable[[Tensor], Tensor]
"""The input's part of all gates, for all steps at once."""
Cell = Callable[..., list[Tensor]]
"""The next state of (the projected input, *state)."""


def run(
    layer: Layer, x: Tensor, lengths: Tensor | None, states: Sequence[Tensor | None],
    cells: Callable[[int], tuple[Project, Cell]],
) -> tuple[Tensor, ...]:  # fmt: skip
    """All outputs, then the last state; `cells` gives for a direction how the input is projected,
    and the cell."""
    ahead = time_first(x, layer.layout)
    assert ahead is not None
    rows, last = [], []
    for direction, is_reversed in enumerate(layer.reversed):
        project, cell = cells(direction)
        zero = ops.zeros((ahead.shape[1], layer.hidden), x.dtype, device=x.device)
        given = [part(time_first(each, layer.layout), direction) for each in states]
        start = [zero if each is None else each for each in given]
        found, state = ops.recurrence(
            project(ahead), start, cell, lengths=lengths, reverse=is_reversed
        )
        rows.append(found)
        last.append(state)
    outputs = ops.stack(rows, 1)
    final = [ops.stack(each, 0) for each in zip(*last, strict=True)]
    if layer.layout:
        return (ops.permute(outputs, (2, 0, 1, 3)), *(ops.transpose(each, 0, 1) for each in final))
    return (outputs, *final)


def biases(bias: Tensor | None, direction: int, size: int) -> tuple[Tensor | None, Tensor | None]:
    """The bias of the input and that of the state, of one direction."""
    own = part(bias, direction)
    if own is None:
        return None, None
    return ops.slice(own, 0, 0, size), ops.slice(own, 0, size)


def both(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The sum of two biases, or none."""
    return None if one is None or other is None else ops.add(one, other)


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

    def cells(number: int) -> tuple[Project, Cell]:
        (f,) = layer.of(number)
        weight, state_weight = ops.select(w, 0, number), ops.select(r, 0, number)
        bias = both(*biases(b, number, size))
        columns = ops.interleave_gates(state_weight, 1)

        def cell(row: Tensor, h: Tensor) -> list[Tensor]:
            (of_state,) = ops.gates(h, columns, 1)
            return [f(ops.add(row, of_state))]

        return partial(project, weight=weight, bias=bias), cell

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

    def cells(number: int) -> tuple[Project, Cell]:
        f, g = layer.of(number)
        weight, state_weight = ops.select(w, 0, number), ops.select(r, 0, number)
        own, of_state = biases(b, number, 3 * size)
        if linear_before_reset:
            cell, bias = reset_after(state_weight, of_state, f, g, size), own
        else:
            cell, bias = reset_before(state_weight, f, g, size), both(own, of_state)
        return partial(project, weight=weight, bias=bias), cell

    return run(layer, x, lengths, [initial_h], cells)


def reset_after(weight: Tensor, bias: Tensor | None, f: Function, g: Function, size: int) -> Cell:
    """A cell that resets what the state gives for the new state: one product."""
    columns = ops.interleave_gates(weight, 3)
    extra = None if bias is None else ops.split(bias, (size,) * 3)

    def cell(row: Tensor, h: Tensor) -> list[Tensor]:
        own, of_state = ops.split(row, (size,) * 3, -1), ops.gates(h, columns, 3)
        if extra is not None:
            of_state = [ops.add(a, b) for a, b in zip(of_state, extra, strict=True)]
        keep, reset = (f(ops.add(a, b)) for a, b in zip(own[:2], of_state[:2], strict=True))
        new = g(ops.add(own[2], ops.multiply(reset, of_state[2])))
        return [mixed(keep, new, h)]

    return cell


def reset_before(weight: Tensor, f: Function, g: Function, size: int) -> Cell:
    """A cell that resets the state of which the new one is made: two products, one by one."""
    columns = ops.interleave_gates(ops.slice(weight, 0, 0, 2 * size), 2)
    new_columns = ops.interleave_gates(ops.slice(weight, 0, 2 * size), 1)

    def cell(row: Tensor, h: Tensor) -> list[Tensor]:
        own = ops.split(row, (size,) * 3, -1)
        of_state = ops.gates(h, columns, 2)
        keep, reset = (f(ops.add(a, b)) for a, b in zip(own[:2], of_state, strict=True))
        (from_state,) = ops.gates(ops.multiply(reset, h), new_columns, 1)
        return [mixed(keep, g(ops.add(own[2], from_state)), h)]

    return cell


def mixed(keep: Tensor, new: Tensor, h: Tensor) -> Tensor:
    """As much of the old state as a gate keeps, and the rest of the new one."""
    return ops.add(ops.multiply(ops.subtract(1.0, keep), new), ops.multiply(keep, h))


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

    def cells(number: int) -> tuple[Project, Cell]:
        f, g, h_of = layer.of(number)
        weight, state_weight = ops.select(w, 0, number), ops.select(r, 0, number)
        columns = ops.interleave_gates(state_weight, 4)
        peep = part(p, number)
        peepholes = None if peep is None else ops.split(peep, (size,) * 3, 0)

        def peeped(gate: Tensor, cell: Tensor, number: int) -> Tensor:
            if peepholes is None:
                return gate
            return ops.add(gate, ops.multiply(peepholes[number], cell))

        def step(row: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
            own, of_state = ops.split(row, (size,) * 4, -1), ops.gates(h, columns, 4)
            into, out, forget, new = (ops.add(a, b) for a, b in zip(own, of_state, strict=True))
            i = f(peeped(into, c, 0))
            kept = ops.subtract(1.0, i) if input_forget else f(peeped(forget, c, 2))
            cell = ops.add(ops.multiply(kept, c), ops.multiply(i, g(new)))
            o = f(peeped(out, cell, 1))
            return [ops.multiply(o, h_of(cell)), cell]

        bias = both(*biases(b, number, 4 * size))
        return partial(project, weight=weight, bias=bias), step

    return run(layer, x, lengths, [initial_h, initial_c], cells)


def project(x: Tensor, *, weight: Tensor, bias: Tensor | None) -> Tensor:
    """What the input gives for all gates of all steps."""
    return ops.linear(x, weight, bias)
