"""Functions that TensorFlow runs between graphs, neighbours as one: less to call and to convert."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from hidet.frontend.running.host_values import HostFunction, HostValue
from hidet.graph import Tensor, trace_from
from hidet_tf.importing.foreign import TfRun
from hidet_tf.importing.region import GIVEN, Region


def neighbours(functions: Iterable[HostFunction]) -> list[HostFunction]:
    """The functions, each joined with an earlier one that it reads where that can be."""
    found: list[HostFunction] = []
    for each in functions:
        for number in reversed(range(len(found))):
            both = joined(found[number], each)
            if both is not None:
                found[number] = both
                break
            if reads(each, found[number].results):
                found.append(each)
                break
        else:
            found.append(each)
    return found


def reads(function: HostFunction, results: Iterable[Any]) -> bool:
    """Whether a function needs some of these, by way of graphs or not."""
    given = set(results)
    return any(value in given or waits(value, given) for value in function.operands)


def joined(first: HostFunction, then: HostFunction) -> HostFunction | None:
    """Two functions as one, where the second reads what the first gives, and nothing that graphs
    compute of it; None if they have to stay two."""
    if not isinstance(first.run, TfRun) or not isinstance(then.run, TfRun):
        return None
    given = set(first.results)
    if given.isdisjoint(then.operands) or any(waits(each, given) for each in then.operands):
        return None
    operands = [*dict.fromkeys((*first.operands, *(v for v in then.operands if v not in given)))]
    run = together(first, then, operands)
    name = f"{first.name}, {then.name}"
    return HostFunction(name, run, tuple(operands), (*first.results, *then.results))


def waits(value: Any, given: set[Any]) -> bool:
    """Whether a value is computed by graphs from what a function gives."""
    if not isinstance(value, Tensor) or value in given or value.trace is None:
        return False
    return not given.isdisjoint(trace_from([value]).inputs)


def together(first: HostFunction, then: HostFunction, operands: Sequence[Any]) -> TfRun:
    """The region of two functions, on these operands."""
    one, other = first.run, then.run
    assert isinstance(one, TfRun)
    assert isinstance(other, TfRun)
    fixed = (*one.fixed, *other.fixed)
    count, shift = len(operands), len(one.region.ops)
    places = {value: (GIVEN, number) for number, value in enumerate(operands)}
    made = dict(zip(first.results, one.region.wanted, strict=True))

    def moved(source: tuple[int, int], of: HostFunction, ops: int, skipped: int) -> tuple[int, int]:
        op, number = source
        if op != GIVEN:
            return op + ops, number
        if number >= len(of.operands):
            return GIVEN, count + skipped + number - len(of.operands)
        value = of.operands[number]
        return places.get(value) or made[value]

    operand_lists = [
        *(tuple(moved(s, first, 0, 0) for s in each) for each in one.region.operands),
        *(tuple(moved(s, then, shift, len(one.fixed)) for s in e) for e in other.region.operands),
    ]
    specs = specs_of(first) | specs_of(then)
    last = (*one.region.specs[len(first.operands) :], *other.region.specs[len(then.operands) :])
    region = Region(
        (*one.region.ops, *other.region.ops),
        tuple(operand_lists),
        (*(specs[value] for value in operands), *last),
        (*one.region.wanted, *((op + shift, n) for op, n in other.region.wanted)),
    )
    return TfRun(region, fixed)


def specs_of(function: HostFunction) -> dict[Any, tf.TensorSpec]:
    """The specs of a function's operands."""
    assert isinstance(function.run, TfRun)
    return dict(zip(function.operands, function.run.region.specs, strict=False))


def trimmed(functions: Sequence[HostFunction], results: Sequence[Any]) -> list[HostFunction]:
    """The functions without values of TensorFlow's that nobody reads: neither functions nor who
    gets the model's `results`."""
    read = [*results, *(each for function in functions for each in function.operands)]
    used = {each for each in read if isinstance(each, HostValue)}
    return [without(each, used) for each in functions]


def without(function: HostFunction, used: Collection[Any]) -> HostFunction:
    """A function without the values that are not used."""
    run, results = function.run, function.results
    if not isinstance(run, TfRun):
        return function
    kept = [n for n, each in enumerate(results) if isinstance(each, Tensor) or each in used]
    left = tuple(results[number] for number in kept)
    return replace(function, run=run.giving(kept), results=left)
