"""The common form in which operators are scheduled, and points of spaces asked about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from hidet.cost import Work
from hidet.graph import Op
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.schedules.contraction import Contraction
from hidet.schedules.convolution import convolution_of
from hidet.schedules.grouped import grouped_of
from hidet.schedules.product import product_of
from hidet.target import Target

FORMS: dict[type[Op], Callable[[Any], Contraction]] = {
    Matmul: product_of,
    Linear: product_of,
    GroupedMatmul: grouped_of,
    Conv: convolution_of,
}
"""How each kind of operator becomes a contraction."""


def contraction_of(op: Op) -> Contraction:
    """The contraction that an operator asks for."""
    return FORMS[type(op)](op)


class Formed(ABC):
    """Points of a space for contractions, whatever operator they come from."""

    @abstractmethod
    def fits_on(self, p: Any, target: Target) -> bool:
        """Whether the point can be built for a contraction."""

    @abstractmethod
    def work_on(self, p: Any, target: Target) -> Work:
        """What a contraction costs at this point."""

    def form(self, op: Any) -> Contraction:
        """The contraction that the points are asked about for `op`."""
        return contraction_of(op)

    def fits(self, op: Op, target: Target) -> bool:
        """Whether the point can be built for `op`."""
        return self.fits_on(self.form(op), target)

    def work(self, op: Op, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_on(self.form(op), target)
