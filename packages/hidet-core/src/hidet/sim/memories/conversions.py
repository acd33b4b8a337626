"""Conversions between types, as the hardware does them."""

from __future__ import annotations

import numpy as np

from hidet.sim.values import Value
from hidet.types import DType, i32, tf32
from hidet.types.narrow import INTEGERS, converted


def cast(value: Value, of: DType, to: DType) -> Value:
    """`value`, of type `of`, as type `to`.

    Floats become integers toward zero; NaN becomes zero, and what does not fit the nearest value
    that does, as `cvt.rzi` does (PTX ISA, "Data Movement and Conversion Instructions: cvt"). Narrow
    ones are the lowest bits of an int32, as `passes.narrow_casts` makes them.
    """
    if of.is_float and to in INTEGERS:
        return saturated(value, i32).astype(to.numpy)[()]
    if of.is_float and to.is_integer:
        return saturated(value, to)
    if to is tf32 and of is not tf32:
        return rounded_to_tf32(np.asarray(value).astype(np.float32))[()]
    return converted(value, to)[()]


def saturated(value: Value, to: DType) -> Value:
    """A float as an integer of type `to`, toward zero, within its limits."""
    wide = np.trunc(np.asarray(value).astype(np.float64))
    low, high = to.limits
    inside = (wide >= low) & (wide < float(high) + 1)
    exact = np.where(inside, wide, 0).astype(to.numpy)
    edge = np.where(wide > 0, to.numpy.type(high), to.numpy.type(low))
    edge = np.where(np.isnan(wide), to.numpy.type(0), edge)
    return np.where(inside, exact, edge)[()]


def rounded_to_tf32(value: Value) -> Value:
    """float32 with ten bits of fraction, ties away from zero (`cvt.rna.tf32.f32`)."""
    bits = np.asarray(value, np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(value), rounded, value)
