"""Control flow: branches and turns that are known while importing are taken into the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.graph.known import known, needs_value
from hidet.types import boolean, i64
from hidet_onnx.converters.known import constant, integer
from hidet_onnx.converters.subgraph import Subgraph
from hidet_onnx.converters.table import onnx

TURNS = 1024
"""More turns are not taken into the graph one by one."""


def truth(condition: Tensor | None) -> bool | None:
    """What a condition is, as far as it is known; true if there is none."""
    if condition is None:
        return True
    elements = known(condition)
    found = None if elements is None else elements.reshape(-1)[0]
    return None if found is None else bool(found)


@onnx("If", since=1)
def choose(condition: Tensor, *, then_branch: Subgraph, else_branch: Subgraph) -> tuple[Any, ...]:
    """What one of two graphs gives."""
    found = truth(condition)
    if found is None:
        raise needs_value(condition)
    return (then_branch if found else else_branch).inline()


@onnx("Loop", since=1)
def loop(
    trips: Tensor | None = None, condition: Tensor | None = None, *carried: Any, body: Subgraph
) -> tuple[Any, ...]:
    """Turns of a graph: what it carries to the end, and what each turn gives beside, stacked."""
    count = TURNS if trips is None else integer(trips)
    values = list(carried)
    rows: list[list[Any]] = [[] for _ in body.outputs[1 + len(carried) :]]
    turn = 0
    while turn < count:
        going = truth(condition)
        if going is None and condition is not None:
            raise needs_value(condition)
        if not going:
            break
        if turn == TURNS:
            raise NotYet(f"a loop of more than {TURNS} turns")
        flag = constant(True, boolean) if condition is None else condition
        again, *found = body.inline(constant(turn, i64), flag, *values)
        condition, values = again, found[: len(carried)]
        for each, row in zip(rows, found[len(carried) :], strict=True):
            each.append(row)
        turn += 1
    return (*values, *(stacked(each, 0) for each in rows))


def stacked(rows: Sequence[Any], axis: int) -> Any:
    """What all turns gave, as one tensor."""
    if not rows:
        raise NotYet("the rows of a loop without turns")
    return ops.stack(rows, axis)


@onnx("Scan", since=9)
def scan(
    *operands: Tensor, body: Subgraph, num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """A turn of a graph for each slice of the scanned operands."""
    count = len(operands) - num_scan_inputs
    values, inputs = list(operands[:count]), operands[count:]
    axes = scan_input_axes or (0,) * len(inputs)
    backward = scan_input_directions or (0,) * len(inputs)
    length = inputs[0].shape[axes[0]] if inputs else 0
    if not isinstance(length, int):
        raise NotYet("a scan of a length that only a call tells")
    rows: list[list[Any]] = [[] for _ in body.outputs[count:]]
    for turn in range(length):
        slices = [
            ops.select(each, axis, length - 1 - turn if turned else turn)
            for each, axis, turned in zip(inputs, axes, backward, strict=True)
        ]
        found = body.inline(*values, *slices)
        values = list(found[:count])
        for each, row in zip(rows, found[count:], strict=True):
            each.append(row)
    along = scan_output_axes or (0,) * len(rows)
    turned = scan_output_directions or (0,) * len(rows)
    stacks = [
        stacked(each[::-1] if back else each, axis)
        for each, axis, back in zip(rows, along, turned, strict=True)
    ]
    return (*values, *stacks)


@onnx("Scan", since=8)
def scan_before_9(
    lengths: Tensor | None = None, *operands: Tensor, body: Subgraph, num_scan_inputs: int,
    directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The same for each sample of a batch, which is the first axis of all operands."""
    if lengths is not None:
        raise NotYet("a scan of samples of different lengths")
    batch = operands[0].shape[0]
    if not isinstance(batch, int) or not batch:
        raise NotYet(f"a scan of {batch} samples")
    samples = [
        scan(
            *(ops.select(each, 0, number) for each in operands), body=body,
            num_scan_inputs=num_scan_inputs, scan_input_directions=directions,
        )
        for number in range(batch)
    ]  # fmt: skip
    return tuple(ops.stack(each, 0) for each in zip(*samples, strict=True))


@onnx("SequenceMap", since=17)
def sequence_map(sequence: Sequence[Any], *more: Any, body: Subgraph) -> tuple[Any, ...]:
    """The lists of what a graph gives for each element of a list."""
    if not isinstance(sequence, list | tuple):
        raise BadArgument("SequenceMap takes a sequence")
    results: list[list[Any]] = [[] for _ in body.outputs]
    for number, each in enumerate(sequence):
        others = [other[number] if isinstance(other, list) else other for other in more]
        for into, value in zip(results, body.inline(each, *others), strict=True):
            into.append(value)
    return tuple(results)
