"""One small function for each operator that hidet-tf converts, by family.

TensorFlow itself says what has to come out, in float64 where it has kernels for that.
"""

from op_cases.case import Case, case, floats, positive, truths, whole

from op_cases import (  # isort: skip
    activation,
    complex,
    conv,
    create,
    elementwise,
    image,
    index,
    linalg,
    losses,
    matmul,
    morphology,
    norm,
    ordering,
    pool,
    quantize,
    random,
    reduce,
    resample,
    segments,
    selection,
    shape,
    slices,
    sparse,
    xla,
)

FAMILIES = {
    family.__name__.removeprefix("op_cases."): tuple(family.CASES)
    for family in (
        elementwise, activation, reduce, matmul, conv, pool, norm, shape, slices, index, create,
        selection, segments, ordering, resample, quantize, linalg, image, losses, random, xla,
        complex, morphology, sparse,
    )
}  # fmt: skip
"""The cases, by the module that has them."""

CASES: tuple[Case, ...] = tuple(each for family in FAMILIES.values() for each in family)

__all__ = ["CASES", "FAMILIES", "Case", "case", "floats", "positive", "truths", "whole"]
