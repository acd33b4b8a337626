"""Constants that converters make."""

from __future__ import annotations

from typing import Any

from hidet.frontend.importing import operands
from hidet.graph import Tensor
from hidet.types import DType
from hidet_onnx.converters.here import here


def constant(array: Any, dtype: DType) -> Tensor:
    """A tensor of these values, where the model runs."""
    return operands.constant(array, dtype, here().device)
