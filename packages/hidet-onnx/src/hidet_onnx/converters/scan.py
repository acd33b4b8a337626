"""Scan: an iteration of a graph for each slice of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet import ops
from hidet.errors import HidetError, InternalError, NotYet
from hidet.graph import Tensor
from hidet_onnx.converters.control import ITERATIONS, stacked
from hidet_onnx.converters.steps import Step, scanned
from hidet_onnx.converters.subgraph import Subgraph
from hidet_onnx.converters.table import onnx


@onnx("Scan", since=9)
def scan(
    *operands: Tensor, body: Subgraph, num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """An iteration of a graph for each slice of the scanned operands; states, then rows,
    stacked."""
    count = len(operands) - num_scan_inputs
    axes = scan_input_axes or (0,) * num_scan_inputs
    backward = scan_input_directions or (0,) * num_scan_inputs
    inputs = [
        turned(axis_first(each, axis), back)
        for each, axis, back in zip(operands[count:], axes, backward, strict=True)
    ]

    def step(*given: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        found = body.inline(*given)
        return found[:count], found[count:]

    last, rows = each_slice(body, step, operands[:count], inputs)
    along = scan_output_axes or (0,) * len(rows)
    back = scan_output_directions or (0,) * len(rows)
    results = zip(rows, along, back, strict=True)
    return (*last, *(first_to(turned(each, b), axis) for each, axis, b in results))


def each_slice(
    body: Subgraph, step: Step, state: Sequence[Tensor], inputs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """A step for each row; where steps give another shape than they take, one by one."""
    try:
        with body.attempt():
            return scanned(step, state, inputs)
    except InternalError:
        raise
    except HidetError:
        length = inputs[0].shape[0] if inputs else 0
        if not isinstance(length, int) or not 0 < length <= ITERATIONS:
            raise
    now, rows = list(state), []
    for number in range(length):
        following, found = step(*now, *(ops.select(each, 0, number) for each in inputs))
        now = list(following)
        rows.append(found)
    return now, [stacked(each, 0) for each in zip(*rows, strict=True)]


def axis_first(x: Tensor, axis: int) -> Tensor:
    """The tensor with an axis in front of the others."""
    where = axis % x.ndim
    return ops.permute(x, (where, *(each for each in range(x.ndim) if each != where)))


def first_to(x: Tensor, axis: int) -> Tensor:
    """The tensor with its first axis at another place."""
    order = list(range(1, x.ndim))
    order.insert(axis % x.ndim, 0)
    return ops.permute(x, order)


def turned(x: Tensor, is_backward: int) -> Tensor:
    """The rows from the last to the first, if asked for."""
    return ops.flip(x, 0) if is_backward else x


@onnx("Scan", since=8)
def scan_before_9(
    lengths: Tensor | None = None, *operands: Tensor, body: Subgraph, num_scan_inputs: int,
    directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The same for each sample of a batch, which is the first axis of all operands.

    A sample has as many iterations as `lengths` says; its rows after these are zero.
    """
    if lengths is not None and any(directions or ()):
        raise NotYet("a scan from the end of samples of different lengths")
    count = len(operands) - num_scan_inputs
    states, inputs = operands[:count], operands[count:]
    most = inputs[0].shape[1] if inputs else 0
    backward = directions or (0,) * num_scan_inputs

    def sample(*given: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        own = list(given)
        trips = most if lengths is None else own.pop()
        slices = [turned(x, back) for x, back in zip(own[count:], backward, strict=True)]

        def iteration(
            number: Tensor, *now: Tensor
        ) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
            found = body.inline(*now, *(ops.take(each, (number,)) for each in slices))
            return None, found[:count], found[count:]

        last, rows, _ = ops.loop(iteration, own[:count], trips=trips, most=most)
        return (), [*last, *rows]

    each = [*states, *inputs, *([] if lengths is None else [lengths])]
    with body.attempt():
        _, results = scanned(sample, (), each)
    return tuple(results)
