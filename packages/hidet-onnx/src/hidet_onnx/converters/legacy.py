"""The first versions of operators: broadcasting by attributes, and attributes without effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import ops
from hidet.errors import InternalError, ShapeMismatch
from hidet.graph import Tensor
from hidet_onnx.converters.activation import hard_sigmoid as of_hard_sigmoid
from hidet_onnx.converters.elementwise import ONE, clip_by_attributes, divide, power
from hidet_onnx.converters.table import onnx, table

TWO: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Add": ops.add, "Sub": ops.subtract, "Mul": ops.multiply, "Div": divide, "Pow": power,
    "And": ops.logical_and, "Or": ops.logical_or, "Xor": ops.logical_xor, "Equal": ops.equal,
    "Greater": ops.greater, "Less": ops.less,
}  # fmt: skip


def aligned(a: Tensor, b: Tensor, axis: int | None, broadcast: int) -> Tensor:
    """b with axes of size 1 behind its own, so that the first of them is axis `axis` of a."""
    if not broadcast or axis is None:
        return b
    first = axis + a.ndim if axis < 0 else axis
    behind = a.ndim - first - b.ndim
    if behind < 0:
        raise ShapeMismatch(f"an operand of {b.ndim} axes does not fit {a.ndim} from axis {axis}")
    return ops.reshape(b, (*b.shape, *(1,) * behind))


def of_two(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """File the version of an operator whose second operand is aligned by attributes."""

    def convert(
        a: Tensor, b: Tensor, *, axis: int | None = None, broadcast: int = 0,
        consumed_inputs: Sequence[int] | None = None,
    ) -> Tensor:  # fmt: skip
        return function(a, aligned(a, b, axis, broadcast))

    convert.__name__, convert.__doc__ = name.lower(), f"{name} before version 7."
    onnx(name, since=1)(convert)


def of_one(name: str, function: Callable[[Tensor], Tensor]) -> None:
    """File the version of an operator that had an attribute without effect."""

    def convert(x: Tensor, *, consumed_inputs: Sequence[int] | None = None) -> Tensor:
        return function(x)

    convert.__name__, convert.__doc__ = name.lower(), f"{name} before version 6."
    onnx(name, since=1)(convert)


for _name, _two in TWO.items():
    of_two(_name, _two)
for _name, _one in ONE.items():
    of_one(_name, _one)


@onnx("Clip", since=1)
def clip(
    x: Tensor, *, min: float | None = None, max: float | None = None,
    consumed_inputs: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """x within bounds; a bound that is missing is the greatest float32."""
    given = {name: value for name, value in (("min", min), ("max", max)) if value is not None}
    return clip_by_attributes(x, **given)


@onnx("PRelu", since=1)
def prelu(x: Tensor, slope: Tensor, *, consumed_inputs: Sequence[int] | None = None) -> Tensor:
    """x, times its channel's slope where negative."""
    is_shared = x.ndim < 2 or slope.size == 1
    return ops.prelu(x, slope if is_shared else aligned(x, slope, 1, 1))


@onnx("Elu", since=1)
def elu(x: Tensor, *, alpha: float = 1.0, consumed_inputs: Sequence[int] | None = None) -> Tensor:
    """x, or alpha * (exp(x) - 1) where x is negative."""
    return ops.elu(x, alpha)


@onnx("LeakyRelu", since=1)
def leaky_relu(
    x: Tensor, *, alpha: float = 0.01, consumed_inputs: Sequence[int] | None = None
) -> Tensor:
    """x, times alpha where negative."""
    return ops.leaky_relu(x, alpha)


@onnx("HardSigmoid", since=1)
def hard_sigmoid(
    x: Tensor, *, alpha: float = 0.2, beta: float = 0.5,
    consumed_inputs: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """alpha * x + beta within 0 and 1."""
    return of_hard_sigmoid(x, alpha=alpha, beta=beta)


@onnx("Selu", since=1)
def selu(
    x: Tensor, *, alpha: float = 1.6732, gamma: float = 1.0507,
    consumed_inputs: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """gamma times x, or times alpha * (exp(x) - 1) where x is negative."""
    return ops.elu(x, alpha, scale=gamma)


def of_any(name: str) -> None:
    """File the first version of an operator of several operands."""
    later = table.find(("", name), 6)
    if later is None:
        raise InternalError(f"there is no converter of {name}")

    def convert(*operands: Tensor, consumed_inputs: Sequence[int] | None = None) -> Tensor:
        found: Tensor = later(*operands)
        return found

    convert.__name__, convert.__doc__ = name.lower(), f"{name} before version 6."
    onnx(name, since=1)(convert)


for _name in ("Sum", "Mean", "Max", "Min"):
    of_any(_name)
