"""Variables: their values are constants of the graph."""

from __future__ import annotations

from hidet.graph import Tensor
from hidet_tf.converters.table import tf
from hidet_tf.converters.variable import Variable


@tf("ReadVariableOp")
def read_variable(variable: Variable) -> Tensor:
    """The values that a variable has when the model is compiled."""
    return variable.tensor()
