"""Matmuls on the CPU by panels."""

from __future__ import annotations

from hidet.cost import Work
from hidet.ops.products.matmul import Linear, Matmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cpu.panel_elements import is_integers
from hidet.schedules.cpu.panel_layout import Registers
from hidet.schedules.cpu.panels import panels
from hidet.schedules.product import product_of
from hidet.target import Target

FEW = 4
"""Rows up to which a matrix is read where it lies."""


class MatmulRegisters(Registers):
    """The tile of sums of a product."""

    def fits(self, op: Matmul | Linear, target: Target) -> bool:
        """Whether the tile has registers."""
        return self.fits_on(target)

    def work(self, op: Matmul | Linear, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_on(product_of(op), target)


def is_float(op: Matmul | Linear) -> bool:
    """Whether the product is of floats, and there is something to multiply."""
    p = product_of(op)
    return p.wide.is_float and not p.empty


def in_panels(op: Matmul | Linear) -> bool:
    """Whether it is of floats with more than a few rows, or of 8-bit integers."""
    p = product_of(op)
    return (is_integers(p) and not p.empty) or (is_float(op) and not is_small_m(op))


def is_small_m(op: Matmul | Linear) -> bool:
    """Whether so few rows share a matrix that making panels of it costs more than it saves."""
    m = product_of(op).m
    return isinstance(m, int) and m <= FEW


@schedule_for(
    Matmul, Linear, target="cpu", space=MatmulRegisters,
    when=lambda op, target: in_panels(op),
)  # fmt: skip
def matmul_panels(op: Matmul | Linear, target: Target, point: MatmulRegisters) -> Scheduled:
    """Panels of both operands, then tiles of the result over the threads."""
    return Scheduled(panels(op.name, product_of(op), target, point), point)
