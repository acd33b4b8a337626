"""What becomes of each ATen operator; importing this fills the table."""

from hidet_torch.converters import (
    attention,
    control,
    conv,
    create,
    elementwise,
    encoder,
    grouped,
    index,
    matmul,
    norm,
    ordering,
    pool,
    recurrent,
    reduce,
    resize,
    selection,
    shape,
)
from hidet_torch.converters.table import Untold, torch

__all__ = [
    "Untold",
    "attention",
    "control",
    "conv",
    "create",
    "elementwise",
    "encoder",
    "grouped",
    "index",
    "matmul",
    "norm",
    "ordering",
    "pool",
    "recurrent",
    "reduce",
    "resize",
    "selection",
    "shape",
    "torch",
]
