"""Grouped matmuls on the CPU: panels of matmuls, whose rows a table places."""

from __future__ import annotations

from hidet.cost import Work
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cpu.panel_layout import Registers
from hidet.schedules.cpu.panels import panels
from hidet.schedules.grouped import grouped_of
from hidet.target import Target


class GroupedRegisters(Registers):
    """The tile of sums of a group."""

    def fits(self, op: GroupedMatmul, target: Target) -> bool:
        """Whether the tile has registers; only its rows can be those of a group."""
        return not self.flip and self.fits_on(target)

    def work(self, op: GroupedMatmul, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_on(grouped_of(op), target)


@schedule_for(
    GroupedMatmul, target="cpu", space=GroupedRegisters,
    when=lambda op, target: grouped_of(op).wide.is_float and not grouped_of(op).empty,
)  # fmt: skip
def grouped_panels(op: GroupedMatmul, target: Target, point: GroupedRegisters) -> Scheduled:
    """Panels of all matrices and of the rows of each group, then tiles of the result."""
    return Scheduled(panels(op.name, grouped_of(op), target, point), point)
