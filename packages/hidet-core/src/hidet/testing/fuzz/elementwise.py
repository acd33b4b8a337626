"""Operators that compute each element of others at the same place."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.pool import Pool, Unfit
from hidet.types import bf16, f4e2m1, f8e4m3, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f16, f32, i32, i64

SMOOTH = (
    ops.relu, ops.tanh, ops.sigmoid, ops.gelu, ops.silu, ops.erf, ops.sin, ops.cos, ops.softplus,
    ops.elu, ops.leaky_relu, ops.hardswish, ops.hardsigmoid, ops.absolute, ops.negative, ops.mish,
    ops.hardtanh, ops.relu6, ops.selu, ops.softsign, ops.log_sigmoid, ops.square, ops.atan,
    ops.asinh, ops.expm1, ops.exp2, lambda x: ops.gelu(x, "tanh"),
    lambda x: ops.exp(ops.clamp(x, -5.0, 3.0)), lambda x: ops.sqrt(ops.absolute(x) + 0.5),
    lambda x: ops.rsqrt(ops.absolute(x) + 0.5), lambda x: ops.reciprocal(ops.absolute(x) + 1.0),
    lambda x: ops.log(ops.absolute(x) + 1.0), lambda x: ops.log1p(ops.square(x)),
    lambda x: ops.clamp(x, -0.75, 0.5), lambda x: ops.pow(ops.absolute(x) + 0.1, 1.5),
    lambda x: ops.tan(ops.clamp(x, -1.0, 1.0)), lambda x: ops.sinh(ops.clamp(x, -2.0, 2.0)),
    lambda x: ops.cosh(ops.clamp(x, -2.0, 2.0)), lambda x: ops.asin(ops.tanh(x) * 0.75),
    lambda x: ops.acos(ops.tanh(x) * 0.75), lambda x: ops.atanh(ops.tanh(x) * 0.75),
    lambda x: ops.acosh(ops.absolute(x) + 1.5), lambda x: ops.log2(ops.absolute(x) + 1.0),
    lambda x: ops.log10(ops.absolute(x) + 1.0), lambda x: ops.prelu(x, 0.25), ops.erfc,
    ops.tanhshrink, ops.softshrink, lambda x: ops.celu(x, 2.0),
    lambda x: x * 0.5 + 1.0, lambda x: 2.0 - x, lambda x: ops.pow(x, 2.0),
)  # fmt: skip
PAIRED = (
    ops.add, ops.add, ops.subtract, ops.multiply, ops.multiply, ops.maximum, ops.minimum,
    lambda x, y: ops.divide(x, ops.absolute(y) + 1.0), lambda x, y: ops.hypot(x, y + 3.0),
    lambda x, y: ops.atan2(x, ops.absolute(y) + 1.0),
)  # fmt: skip
NARROW = (f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f4e2m1)
DECIDING = (ops.sign, ops.floor, ops.ceil, ops.round, ops.trunc)
COMPARING = (ops.less, ops.greater_equal, ops.equal, ops.not_equal, ops.greater, ops.less_equal)
WHOLE = (
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, ops.maximum, ops.minimum,
    ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor,
    lambda x, y: ops.remainder(x, ops.absolute(y) + 1),
    lambda x, y: ops.floor_divide(x, ops.absolute(y) + 1),
)  # fmt: skip


def smooth(pool: Pool) -> list[Tensor]:
    """A function of each element."""
    return [pool.random.choice(SMOOTH)(pool.floats())]


def paired(pool: Pool) -> list[Tensor]:
    """Two tensors that broadcast."""
    x = pool.floats()
    return [pool.random.choice(PAIRED)(*swapped(pool, x, partner(pool, x)))]


def partner(pool: Pool, x: Tensor) -> Tensor:
    """A tensor of the type of `x` that broadcasts with it: one of the pool, or a new one."""
    if pool.maybe(0.7):
        try:
            return pool.pick(lambda y: y.dtype is x.dtype and broadcasts(x, y) and y is not x)
        except Unfit:
            pass
    shape = list(x.shape[pool.random.randint(0, x.ndim) :])
    for axis in range(len(shape)):
        if pool.maybe(0.25):
            shape[axis] = 1
    return pool.new(shape, x.dtype)


def broadcasts(x: Tensor, y: Tensor) -> bool:
    """Whether two shapes fit for certain."""
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    return all(a is b or a == b or 1 in (a, b) for a, b in pairs)


def swapped(pool: Pool, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors in either order."""
    return (x, y) if pool.maybe() else (y, x)


def chosen(pool: Pool) -> list[Tensor]:
    """Elements of two tensors, or of one and a number, as a mask says."""
    x = pool.floats()
    masks = [m for m in pool.tensors if m.dtype.is_bool and broadcasts(x, m)]
    mask = pool.random.choice(masks) if masks and pool.maybe(0.8) else pool.mask(x.shape)
    if pool.maybe(0.3):
        return [ops.masked_fill(x, mask, -0.5)]
    return [ops.where(mask, *swapped(pool, x, partner(pool, x)))]


def converted(pool: Pool) -> list[Tensor]:
    """A tensor of any type as floats of another one, perhaps of what a narrow type keeps of it."""
    x = pool.pick()
    if pool.maybe(0.3):
        x = ops.saturating_cast(x, pool.random.choice(NARROW))
    return [ops.cast(x, pool.random.choice((f32, f32, f16, bf16)))]


def decided(pool: Pool) -> list[Tensor]:
    """What jumps: only of values that hold no rounding, since that decides where."""
    x = pool.precise()
    if pool.maybe(0.3):
        return [ops.cast(x, pool.random.choice((i32, i64)))]
    return [pool.random.choice(DECIDING)(x)]


def compared(pool: Pool) -> list[Tensor]:
    """Truth values from a comparison."""
    x = pool.precise()
    rounded = pool.values.rounded
    others = [y for y in pool.tensors if y.dtype is x.dtype and y not in rounded]
    fits = [y for y in others if y is not x and broadcasts(x, y)]
    y = pool.random.choice(fits) if fits else pool.new(x.shape[-1:], x.dtype)
    return [pool.random.choice(COMPARING)(x, y)]


def whole(pool: Pool) -> list[Tensor]:
    """Arithmetic of integers."""
    x = pool.integer()
    fits = [y for y in pool.tensors if y.dtype is x.dtype and broadcasts(x, y)]
    y = pool.random.choice(fits) if fits and pool.maybe() else pool.new(x.shape, x.dtype, 9)
    return [pool.random.choice(WHOLE)(x, y)]


def logical(pool: Pool) -> list[Tensor]:
    """Arithmetic of truth values."""
    x = pool.pick(lambda t: t.dtype.is_bool)
    if pool.maybe(0.3):
        return [ops.logical_not(x)]
    fits = [y for y in pool.tensors if y.dtype.is_bool and broadcasts(x, y)]
    kind = pool.random.choice((ops.logical_and, ops.logical_or, ops.logical_xor))
    return [kind(x, pool.random.choice(fits))]
