"""The quantiles of the normal distribution, by quotients of polynomials.

There is one for its middle, one for its tails and one for their ends, each right to 16 digits.
Source: M. Wichura, Algorithm AS 241: the percentage points of the normal distribution (1988).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hidet import ops
from hidet.graph import Tensor
from hidet.types import f64
from hidet_torch.converters.table import aten, torch


class Quotient(NamedTuple):
    """A polynomial over another, of how far a number is from a start; the constants come first."""

    start: float
    above: Sequence[float]
    below: Sequence[float]


MIDDLE = Quotient(
    0.180625,
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
"""The quantile over the distance of a share from 1/2, of what the square of that distance leaves of
the start."""
TAILS = Quotient(
    1.6,
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
     3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
     0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
ENDS = Quotient(
    5.0,
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     0.296560571828504891230, 0.0265321895265761230930, 0.00124266094738807843860,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip
"""The quantile without its sign, of the root of minus the logarithm of what is beyond it."""
CENTRAL = 0.425
"""How far from 1/2 the shares of the middle are."""
FAR = 5.0
"""The roots up to which the tails go."""


@torch(aten.special_ndtri.default)
def ndtri(x: Tensor) -> Tensor:
    """Where the normal distribution has such a share below; NaN of what is no share."""
    share = ops.cast(x, f64)
    aside, tail = share - 0.5, ops.minimum(share, 1.0 - share)
    root = ops.sqrt(-ops.log(tail))
    central = aside * quotient(MIDDLE, MIDDLE.start - aside * aside)
    size = ops.where(
        ops.less(root, FAR),
        quotient(TAILS, root - TAILS.start),
        quotient(ENDS, root - ENDS.start),
    )
    size = ops.where(ops.equal(tail, 0.0), math.inf, size)
    outer = ops.where(ops.less(aside, 0.0), -size, size)
    return ops.where(ops.less(ops.absolute(aside), CENTRAL), central, outer)


def quotient(of: Quotient, x: Tensor) -> Tensor:
    """One polynomial over the other."""
    return evaluated(of.above, x) / evaluated(of.below, x)


def evaluated(factors: Sequence[float], x: Tensor) -> Tensor:
    """The sum of factors times powers of x."""
    found = x * factors[-1] + factors[-2]
    for each in reversed(factors[:-2]):
        found = found * x + each
    return found
