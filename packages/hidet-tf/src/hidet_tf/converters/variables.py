"""Variables: what the program reads of them, and what it assigns to them.

What is assigned is a value like any other, which later reads give; the variable gets it after the
call.
"""

from __future__ import annotations

from hidet import ops
from hidet.frontend.operands import size_tensor
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.table import tf
from hidet_tf.converters.variable import Variable


@tf("ReadVariableOp")
def read_variable(variable: Variable) -> Tensor:
    """The values that a variable has here."""
    return variable.tensor()


@tf("AssignVariableOp")
def assign(variable: Variable, value: Tensor) -> tuple[()]:
    """The variable is a value from here on."""
    variable.assign(value)
    return ()


@tf("AssignAddVariableOp")
def assign_add(variable: Variable, value: Tensor) -> tuple[()]:
    """The variable has a value more from here on."""
    return assign(variable, ops.add(variable.tensor(), value))


@tf("AssignSubVariableOp")
def assign_sub(variable: Variable, value: Tensor) -> tuple[()]:
    """The variable has a value less from here on."""
    return assign(variable, ops.subtract(variable.tensor(), value))


@tf("VariableShape")
def variable_shape(variable: Variable, *, out_type: DType) -> Tensor:
    """The sizes of a variable."""
    return size_tensor(variable.tensor().shape, out_type, variable.tensor().device)
