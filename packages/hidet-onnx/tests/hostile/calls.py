"""Calls with arrays that the model does not take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hostile.attack import BILLION, ONE, attack, compiled, i64, node


def fed(*inputs: Any, **named: Any) -> Any:
    return compiled(node("MatMul", ["x", "w"], ["y"]), held={"w": ONE})(*inputs, **named)


@attack("no value for x")
def fed_nothing(folder: Path) -> Any:
    return fed()


@attack("2 inputs for a model of 1")
def fed_too_much(folder: Path) -> Any:
    return fed(ONE, ONE)


@attack("no input 'z'.*'x'")
def fed_another_name(folder: Path) -> Any:
    return fed(z=ONE)


@attack("'x' is given twice")
def fed_twice(folder: Path) -> Any:
    return fed(ONE, x=ONE)


@attack("input x is float32.1, 2, 3.*takes float32.n, 3")
def fed_another_rank(folder: Path) -> Any:
    return fed(np.ones((1, 2, 3), np.float32))


@attack("input x is float64")
def fed_another_type(folder: Path) -> Any:
    return fed(ONE.astype(np.float64))


@attack("input x is float32.2, 4")
def fed_another_size(folder: Path) -> Any:
    return fed(np.ones((2, 4), np.float32))


@attack("input x is object")
def fed_objects(folder: Path) -> Any:
    return fed(np.array([["a", "b", "c"]], object))


@attack("input x is a str")
def fed_text(folder: Path) -> Any:
    return fed("x")


@attack("'x' may not be None")
def fed_none(folder: Path) -> Any:
    return fed(None)


@attack("out-of-memory.*5587.9 GiB")
def call_larger_than_memory(folder: Path) -> Any:
    model = compiled(
        node("Expand", ["x", "s"], ["big"]),
        node("Exp", ["big"], ["y"]),
        held={"s": i64(1000, 1, 1)},
    )
    few = np.broadcast_to(np.ones((1, 3), np.float32), (BILLION // 2, 3))
    return model(few)
