"""Orthogonal polynomials by recurrence: as many iterations as the highest degree asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hidet import ops
from hidet.compute.sizes import broadcast, product
from hidet.graph import Tensor
from hidet.types import f64, i64
from hidet_torch.converters.elementwise import Operand
from hidet_torch.converters.table import aten, torch
from hidet_torch.memory.dtypes import result_type

Step = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""The polynomial of degree k + 2 by k, x, and those of degree k and k + 1."""


@dataclass(frozen=True)
class Family:
    """Polynomials of which that of degree 0 is 1; `shifted` ones are those of 2x - 1."""

    first: Callable[[Tensor], Tensor]
    """The polynomial of degree 1."""
    step: Step
    shifted: bool = False

    def __call__(self, x: Operand, degree: Operand) -> Tensor:
        """The polynomials of such degrees, rounded toward zero, at x; 0 of negative degrees.

        They are computed in float64: recurrences lose what float32 has.
        """
        of = result_type(x, degree)
        at, n = (wide(each, x, degree) for each in (x, degree))
        shape = broadcast(at.shape, n.shape)
        at, n = (ops.expand(each, shape) for each in (at, ops.cast(n, i64)))
        if product(shape) == 0:
            return ops.cast(at, of)
        found = self.evaluated(at * 2.0 - 1.0 if self.shifted else at, n)
        return ops.cast(ops.where(ops.less(n, 0), 0.0, found), of)

    def evaluated(self, x: Tensor, n: Tensor) -> Tensor:
        """The polynomials of degrees n at x, of float64."""

        def iteration(
            k: Tensor, low: Tensor, high: Tensor
        ) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
            goes_on = ops.less(k, n)
            following = self.step(ops.cast(k, f64), x, low, high)
            return None, (ops.where(goes_on, high, low), ops.where(goes_on, following, high)), ()

        (found, _), _, _ = ops.loop(iteration, (ops.ones_like(x), self.first(x)), trips=ops.max(n))
        return found


def wide(value: Operand, *beside: Operand) -> Tensor:
    """A tensor, or a number beside one, in float64."""
    if isinstance(value, Tensor):
        return ops.cast(value, f64)
    device = next(each.device for each in beside if isinstance(each, Tensor))
    return ops.full((), value, f64, device=device)


def chebyshev(k: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """All four kinds differ in the polynomial of degree 1 alone."""
    return 2.0 * x * high - low


def hermite(k: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """As physicists have them."""
    return 2.0 * (x * high - (k + 1.0) * low)


def hermite_e(k: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """As statisticians have them."""
    return x * high - (k + 1.0) * low


def laguerre(k: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Laguerre's."""
    return ((2.0 * k + 3.0 - x) * high - (k + 1.0) * low) / (k + 2.0)


def legendre(k: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Legendre's."""
    return ((2.0 * k + 3.0) * x * high - (k + 1.0) * low) / (k + 2.0)


KINDS: dict[str, Callable[[Tensor], Tensor]] = {
    "t": lambda x: x,
    "u": lambda x: 2.0 * x,
    "v": lambda x: 2.0 * x - 1.0,
    "w": lambda x: 2.0 * x + 1.0,
}
"""Chebyshev's polynomials of degree 1."""

FAMILIES = {
    **{f"chebyshev_polynomial_{kind}": Family(each, chebyshev) for kind, each in KINDS.items()},
    **{
        f"shifted_chebyshev_polynomial_{kind}": Family(each, chebyshev, shifted=True)
        for kind, each in KINDS.items()
    },
    "hermite_polynomial_h": Family(lambda x: 2.0 * x, hermite),
    "hermite_polynomial_he": Family(lambda x: x, hermite_e),
    "laguerre_polynomial_l": Family(lambda x: 1.0 - x, laguerre),
    "legendre_polynomial_p": Family(lambda x: x, legendre),
}
for _name, _family in FAMILIES.items():
    _packet = getattr(aten, f"special_{_name}")
    torch.rows({getattr(_packet, which): _family for which in ("default", "n_scalar", "x_scalar")})
