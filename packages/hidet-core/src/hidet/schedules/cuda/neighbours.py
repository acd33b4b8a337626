"""Neighbours in a row of a contraction's result, written by the thread that has added them up."""

from __future__ import annotations

from hidet.lang import ScriptFunction, cast, script, vectorize
from hidet.lang.memory import get
from hidet.schedules.contraction import Contraction
from hidet.types import DType


def writing_neighbours(p: Contraction, lanes: int, wide: DType) -> ScriptFunction:
    """A part of a kernel: (total, bias, c, z, i, j). So many sums in `wide`, from row i and column
    j on, with the bias; what lies outside of the result is dropped."""

    @script
    def write(total, bias, c, z, i, j):  # type: ignore[no-untyped-def]
        for lane in vectorize(lanes):
            value = total[lane]
            if p.bias is not None:
                value += cast(get(bias, *p.bias_at(z, i, j + lane)), wide)
            if p.is_there(i, j + lane):
                c.put(*p.c_at(z, i, j + lane), cast(value, p.c.dtype))

    return write
