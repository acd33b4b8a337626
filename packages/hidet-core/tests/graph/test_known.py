"""Elements of small tensors: chains as models compute shapes, with symbolic sizes."""

from __future__ import annotations

import numpy as np
import pytest

from hidet import ops
from hidet.compute.sizes import same, same_shape
from hidet.errors import DtypeMismatch, NeedsValue
from hidet.graph import Tensor, evaluate, from_numpy, symbol, trace_from, tracing
from hidet.graph.known import inputs_of, known, numbers, values
from hidet.ir.evaluate import evaluate as number
from hidet.types import f32, i64


def constant(*elements: float, dtype: str = "int64") -> Tensor:
    """A constant with one axis."""
    return from_numpy(np.array(elements, dtype))


def shape_of(x: Tensor) -> Tensor:
    """The shape as exporters compute it."""
    return ops.stack([ops.size_value(size) for size in x.shape])


def element(vector: Tensor, position: int) -> Tensor:
    """One element by a gather, with an axis again, as exporters write it."""
    index = from_numpy(np.array(position))
    return ops.unsqueeze(ops.take(vector, [index]), 0)


def test_shape_gather_unsqueeze_concat_reshape():
    x = symbol(["b", "s", 768])
    with tracing():
        shape = shape_of(x)
        wanted = ops.concat([element(shape, 0), element(shape, 1), constant(12, -1)])
    batch, length, _ = x.shape
    assert numbers(wanted) == (batch, length, 12, -1)
    assert same_shape(ops.reshape(x, numbers(wanted)).shape, (batch, length, 12, 64))


def test_shape_slice_cast_multiply():
    x = symbol([1, 3, "h", "w"])
    with tracing():
        spatial = ops.cast(ops.slice(shape_of(x), 0, 2, 2**63 - 1), f32)
        wanted = ops.cast(ops.floor(spatial * constant(2.0, 2.0, dtype="float32")), i64)
        doubled = ops.cast(spatial, i64) * 2
    first, second = numbers(doubled)
    assert same(first, x.shape[2] * 2)
    assert same(second, x.shape[3] * 2)
    # In float32, as the model has it: not folded to exact arithmetic.
    assert [str(each) for each in numbers(wanted)] == [
        "i32((f32(h) * 2.0))", "i32((f32(w) * 2.0))"
    ]  # fmt: skip


def test_range_and_product():
    x = symbol([4, "n"])
    with tracing():
        count = ops.prod(shape_of(x))
        positions = ops.arange(5) * 2 + 1
    assert same(numbers(count)[0], x.shape[1] * 4)
    assert numbers(positions) == (1, 3, 5, 7, 9)


def test_expand_where_minus_one_keeps_a_size():
    x = symbol(["b", 1, 5])
    with tracing():
        wanted = constant(-1, 7, 1)
        ones = ops.full((3,), 1, i64)
        shape = ops.where(ops.equal(wanted, -1), ones, wanted)
        larger = ops.maximum(shape, shape_of(x))
    assert numbers(shape) == (1, 7, 1)
    batch, seven, five = numbers(larger)
    assert (seven, five) == (7, 5)
    assert "b" in str(batch)


def test_a_size_is_never_negative_and_may_be_zero():
    x = symbol(["n"])
    with tracing():
        size = shape_of(x)
        found = [
            ops.equal(size, -1), ops.less(size, 0), ops.greater_equal(size, 0),
            ops.equal(size, 0), ops.equal(size, size + 1), ops.less(size, size + 1),
            ops.logical_or(ops.equal(size, 0), ops.full((1,), True, "bool")),
            ops.logical_and(ops.equal(size, 0), ops.equal(size, -1)),
        ]  # fmt: skip
    assert [None if known(e) is None else known(e)[0] for e in found] == [
        False, False, True, None, False, True, True, False,
    ]  # fmt: skip


def test_only_some_elements_need_be_known():
    x, n = symbol([2, "s"]), symbol([1], "int64", name="n")
    with tracing():
        mixed = ops.concat([n, shape_of(x)])
        rest = ops.slice(mixed, 0, 1)
    assert numbers(rest) == (2, x.shape[1])
    with pytest.raises(NeedsValue) as caught:
        numbers(mixed)
    assert caught.value.tensor is mixed
    assert caught.value.inputs == (n,)
    assert "'n'" in str(caught.value)


def test_values_that_large_inputs_decide_lead_to_no_input():
    x = symbol([2, 999])
    with tracing():
        asked = ops.sum(ops.cast(x, i64), [0, 1])
    assert inputs_of(asked) is None
    with pytest.raises(NeedsValue) as caught:
        numbers(asked)
    assert caught.value.inputs == ()


def test_operators_without_a_rule_tell_plain_numbers():
    with tracing():
        best, where = ops.topk(constant(5, 9, 2, dtype="float32"), 2)
        total = ops.cumsum(constant(2, 3, 4), 0)
    assert values(best) == (9.0, 5.0)
    assert values(where) == (1, 0)
    assert values(total) == (2, 5, 9)


def test_floats_are_rounded_to_their_type():
    with tracing():
        product = ops.cast(constant(10, dtype="int64"), f32) * constant(0.7, dtype="float32")
    assert values(product) == (7.0,)
    assert values(constant(0.1, dtype="float16")) == (float(np.float16(0.1)),)
    with pytest.raises(DtypeMismatch):
        numbers(product)


def test_what_does_not_fit_its_type_is_not_known():
    with tracing():
        far = constant(127, dtype="int8") + constant(1, dtype="int8")
    assert known(far) is None


def test_large_tensors_are_data():
    with tracing():
        assert known(ops.arange(1025)) is None
        with pytest.raises(NeedsValue):
            numbers(ops.arange(1025)[:2])


def test_long_chains_need_no_recursion():
    with tracing():
        x = constant(1)
        for _ in range(3000):
            x = x + 1
    assert numbers(x) == (3001,)


def test_what_is_known_is_what_the_references_compute():
    x = symbol(["a", "b"])
    a, b = x.shape
    with tracing():
        s = shape_of(x)
        t = ops.flip(s, 0)
        found = [
            s + t, s - t, s * t, ops.floor_divide(s, 3), ops.trunc_divide(s, t + 1),
            ops.remainder(s, 4), ops.fmod(s, 5), ops.maximum(s, t), ops.minimum(s, 6), -s,
            ops.sum(s), ops.prod(s), ops.max(s), ops.min(s * t), ops.absolute(s),
            ops.clamp(s, 2, 8),
            ops.tile(s, 2), ops.expand(ops.unsqueeze(s, 0), (3, 2)), ops.permute(
                ops.reshape(ops.concat([s, t]), (2, 2)), (1, 0)),
        ]  # fmt: skip
    for sizes in ((2, 3), (7, 1), (129, 5), (10, 20)):
        given = dict(zip((a, b), sizes, strict=True))
        for tensor in found:
            (wanted,) = evaluate(trace_from(tensor, [x]), np.zeros(sizes, np.float32))
            got = [e if isinstance(e, int) else number(e, given) for e in numbers(tensor)]
            assert got == wanted.reshape(-1).tolist(), (tensor, sizes)


def test_scaled_sizes_are_those_of_float32():
    x = symbol(["n"])
    with tracing():
        scaled = ops.cast(ops.cast(shape_of(x), f32) * constant(0.7, dtype="float32"), i64)
        (size,) = numbers(scaled)
        counted = ops.iota(size) + size
    # 10 * 0.7f is below 7, and rounds to 7.
    assert number(size, {x.shape[0]: 10}) == 7
    compiled = trace_from(counted, [x]).build("cpu")
    for count, wanted in ((10, 7), (1, 0), (129, 90)):
        found = compiled(from_numpy(np.zeros(count, np.float32)))
        assert found.tolist() == list(range(wanted, 2 * wanted))


def test_values_beyond_32_bits():
    x = symbol(["n"])
    with tracing():
        far = ops.minimum(shape_of(x), constant(2**63 - 1))
        assert numbers(far) == x.shape
        beyond = ops.maximum(shape_of(x), constant(-(2**63)))
    assert numbers(beyond) == x.shape
