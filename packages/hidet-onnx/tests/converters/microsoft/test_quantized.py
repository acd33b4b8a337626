"""Quantised operators and packed weights of ONNX Runtime's own domain, beside ONNX Runtime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from one_node import Array, by_hidet, by_runtime, check, model_of

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    """Numbers between -1 and 1."""
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def bytes_of(kind: Any, *shape: int) -> Array:
    """Numbers of a narrow type."""
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return RANDOM.integers(low, high + 1, shape).astype(kind)


def number(value: float, kind: Any = np.float32) -> Array:
    """One number, as a tensor without axes."""
    return np.array(value, kind)


def tensor(kind: Any, *shape: int, scale: float = 0.05, zero: int = 3) -> list[Array]:
    """A quantised tensor, its scale and zero point."""
    return [bytes_of(kind, *shape), number(scale), number(zero, kind)]


def check_bytes(kind: str, inputs: list[Array | None], **how: Any) -> None:
    """Results differ by one at most, and seldom: where float32 rounds a tie to the other side."""
    model = model_of(kind, inputs, 1, **how)
    given = [each for each in inputs if each is not None]
    wanted, found = by_runtime(model, given)[0], by_hidet(model, given)[0]
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    apart = np.abs(found.astype(np.int64) - wanted.astype(np.int64))
    assert apart.max(initial=0) <= 1
    assert (apart > 0).mean() <= 0.05


BOTH = pytest.mark.parametrize("kind", [np.uint8, np.int8])


@BOTH
def test_elementwise(kind: Any) -> None:
    result = [number(0.0937), number(-2 if kind is np.int8 else 9, kind)]
    a, b = tensor(kind, 2, 5, 7), tensor(kind, 5, 1, scale=0.02, zero=1)
    for name in ("QLinearAdd", "QLinearMul"):
        check_bytes(name, [*a, *b, *result])
    check_bytes("QLinearSigmoid", [*a, number(1 / 256), number(0, kind)])
    check_bytes("QLinearLeakyRelu", [*a, *result], alpha=0.2)
    condition = RANDOM.integers(0, 2, (5, 7)).astype(bool)
    check_bytes("QLinearWhere", [condition, *a, *b, *result])
    check_bytes("QLinearConcat", [*result, *a, *tensor(kind, 2, 3, 7, scale=0.2)], axis=1)


@BOTH
@pytest.mark.parametrize(("axis", "opset"), [(-1, 13), (1, 13), (1, 11)])
def test_softmax(kind: Any, axis: int, opset: int) -> None:
    low = number(np.iinfo(kind).min, kind)
    given = [*tensor(kind, 2, 5, 7), number(1 / 256), low]
    check_bytes("QLinearSoftmax", given, axis=axis, opset=opset)


@BOTH
@pytest.mark.parametrize("last", [0, 1])
def test_images(kind: Any, last: int) -> None:
    shape = (2, 9, 7, 3) if last else (2, 3, 9, 7)
    x = tensor(kind, *shape)
    result = [number(0.04), number(5, kind)]
    how = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "channels_last": last}
    check_bytes("QLinearAveragePool", [*x, *result], **how)
    check_bytes("QLinearAveragePool", [*x, *result], count_include_pad=1, **how)
    check_bytes("QLinearGlobalAveragePool", [*x, *result], channels_last=last)
    weight = [bytes_of(np.int8, 4, 3, 3, 3), floats(4) ** 2 / 100 + 0.01, np.zeros(4, np.int8)]
    bias = RANDOM.integers(-900, 900, 4).astype(np.int32)
    given = [*x, *weight, number(0.9), number(5, kind), bias]
    check_bytes("QLinearConv", given, pads=[1, 1, 0, 1], channels_last=last, held=[])


def test_mean_along_axes() -> None:
    """ONNX Runtime has no kernel for it: beside its definition."""
    x, scale, zero = tensor(np.uint8, 2, 5, 7)
    given = [x, scale, zero, number(0.02), number(7, np.uint8)]
    found = by_hidet(model_of("QLinearReduceMean", given, 1, axes=[0, 2], keepdims=0), given)[0]
    mean = (x.astype(np.float64) - 3).mean((0, 2)) * 0.05
    assert np.abs(found - np.clip(np.rint(mean / 0.02) + 7, 0, 255)).max() <= 1


WEIGHTS = pytest.mark.parametrize("weight", [np.uint8, np.int8])


@WEIGHTS
@pytest.mark.parametrize("by_column", [False, True])
def test_matmuls_of_integers_as_floats(weight: Any, by_column: bool) -> None:
    b = bytes_of(weight, 7, 5)
    scale = floats(5) ** 2 + 0.1 if by_column else number(0.02)
    zero = bytes_of(weight, 5) // 2 if by_column else number(3, weight)
    a = tensor(np.uint8, 3, 7)
    check("MatMulIntegerToFloat", [a[0], b, a[1], scale, a[2], zero, floats(5)])
    check("MatMulIntegerToFloat", [a[0], b, a[1], scale, a[2]])
    check("DynamicQuantizeMatMul", [floats(2, 3, 7), b, scale, zero, floats(5)])
    check("DynamicQuantizeMatMul", [floats(3, 7), b, scale])


@WEIGHTS
@pytest.mark.parametrize("turned", [0, 1])
def test_quantised_gemm(weight: Any, turned: int) -> None:
    a, b = tensor(np.uint8, 3, 7), bytes_of(weight, 7, 5)
    if turned:
        a[0], b = np.ascontiguousarray(a[0].T), np.ascontiguousarray(b.T)
    bias = RANDOM.integers(-900, 900, 5).astype(np.int32)
    given = [*a, b, number(0.02), number(3, weight), bias]
    how = {"transA": turned, "transB": turned, "alpha": 0.5}
    check("QGemm", given, **how)
    check_bytes("QGemm", [*given, number(0.1937), number(9, np.uint8)], **how)
    columns = [*a, b, floats(5) ** 2 + 0.01, np.zeros(5, weight)]
    check("QGemm", columns, **how)


@WEIGHTS
@pytest.mark.parametrize("has_past", [False, True])
def test_quantised_attention(weight: Any, has_past: bool) -> None:
    x, scale, zero = tensor(np.uint8, 2, 5, 6)
    past = floats(2, 2, 2, 3, 4) if has_past else None
    mask = np.array([5 + 3 * has_past, 3], np.int32)
    given = [x, bytes_of(weight, 6, 24), floats(24), scale, number(0.01), mask, zero,
             number(2, weight), past]  # fmt: skip
    check("QAttention", given, 2, num_heads=2, held=[1])
    given[5] = None
    check("QAttention", given, 2, num_heads=2, unidirectional=1, held=[1])


@pytest.mark.parametrize("has_segments", [False, True])
def test_quantised_embeddings(has_segments: bool) -> None:
    ids = RANDOM.integers(0, 11, (2, 5)).astype(np.int32)
    segments = RANDOM.integers(0, 2, (2, 5)).astype(np.int32) if has_segments else None
    shapes = ((11, 8), (7, 8), (2, 8), (8,), (8,))
    tables = [tensor(np.uint8, *shape, scale=0.01 * n + 0.01) for n, shape in enumerate(shapes)]
    columns = [*zip(*tables, strict=True)]
    if not has_segments:
        columns = [(*each[:2], None, *each[3:]) for each in columns]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    given = [ids, segments, *columns[0], mask, *columns[1], *columns[2]]
    check("QEmbedLayerNormalization", given, 2)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_quantised_lstm(direction: str) -> None:
    """ONNX Runtime rounds inputs and states to bytes: it is farther from the layer in float64."""
    count, hidden, inputs = (2 if direction == "bidirectional" else 1), 5, 7
    w, r = (bytes_of(np.int8, count, each, 4 * hidden) for each in (inputs, hidden))
    scales = [np.full(count, 0.004, np.float32), floats(count, 4 * hidden) ** 2 / 200 + 0.001]
    zeros = [np.zeros(count, np.int8), np.zeros((count, 4 * hidden), np.int8)]
    x, bias = floats(6, 3, inputs), floats(count, 8 * hidden)
    start = [floats(count, 3, hidden), floats(count, 3, hidden)]
    lengths = np.array([6, 4, 2], np.int32)
    given = [x, w, r, bias, lengths, *start, None, scales[0], zeros[0], scales[1], zeros[1]]
    how = {"direction": direction, "hidden_size": hidden}
    model = model_of("DynamicQuantizeLSTM", given, 3, held=[1, 2, 8, 9, 10, 11], **how)
    fed = [x, bias, lengths, *start]
    turned = [np.swapaxes(w * scales[0][:, None, None], 1, 2).astype(np.float32),
              np.swapaxes(r * scales[1][:, None], 1, 2).astype(np.float32)]  # fmt: skip
    plain = [x, *turned, bias, lengths, *start]
    right = by_runtime(model_of("LSTM", plain, 3, "", **how), plain)
    for found, rough, exact in zip(
        by_hidet(model, fed), by_runtime(model, fed), right, strict=True
    ):
        assert np.abs(found - exact).max() < 1e-5
        assert np.abs(rough - exact).max() < 0.05


# ---- packed weights ------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "block"), [(32, 16), (40, 16)])
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_packed_weights(k: int, block: int, bits: int, zeros: str, kind: Any) -> None:
    n, blocks = 5, -(-k // block)
    b = bytes_of(np.uint8, n, blocks, block * bits // 8)
    packed = bytes_of(np.uint8, n * -(-blocks * bits // 8))
    real = (floats(n, blocks) * 2 + 2 ** (bits - 1)).astype(kind)
    zero = {"none": None, "packed": packed, "floats": real}[zeros]
    scale = (floats(n * blocks) / 2**bits).astype(kind)
    given = [floats(3, k).astype(kind), b, scale, zero, None, floats(n).astype(kind)]
    model = model_of("MatMulNBits", given, 1, held=[1, 2, 3], K=k, N=n, bits=bits,
                     block_size=block, accuracy_level=0)  # fmt: skip
    found = by_hidet(model, [given[0], given[5]])[0]
    weight = definition(given, bits, block)[:, :k]
    x = given[0].astype(np.float64)
    exact, terms = x @ weight.T + given[5], np.abs(x) @ np.abs(weight).T
    assert found.dtype == kind
    allowed = np.finfo(kind).eps * np.abs(exact) + 2 * np.finfo(np.float32).eps * terms
    assert (np.abs(found - exact) <= allowed).all()


def definition(given: list[Any], bits: int, block: int) -> Array:
    """Packed weights in float64."""
    _, b, scale, zero, *_ = given
    n = b.shape[0]
    numbers = unpacked(b.reshape(n, -1), bits).reshape(n, -1, block)
    blocks = numbers.shape[1]
    middle: Any = 2.0 ** (bits - 1)
    if zero is not None and zero.dtype == np.uint8:
        middle = unpacked(zero.reshape(n, -1), bits)[:, :blocks, None]
    elif zero is not None:
        middle = zero.astype(np.float64)[:, :, None]
    wide = scale.astype(np.float64).reshape(n, blocks, 1)
    return ((numbers - middle) * wide).reshape(n, -1)


def unpacked(x: Array, bits: int) -> Array:
    """The numbers in bytes, the low bits first."""
    shifts = np.arange(0, 8, bits)
    return ((x[..., None] >> shifts) & (2**bits - 1)).reshape(*x.shape[:-1], -1).astype(np.float64)


def test_columns_that_name_their_block() -> None:
    n, k, block = 5, 32, 16
    b, scale = bytes_of(np.uint8, n, 2, 8), floats(n * 2)
    index = RANDOM.integers(0, 2, k).astype(np.int32)
    for zero in (None, floats(n, 2) + 8):
        check("MatMulNBits", [floats(3, k), b, scale, zero, index], held=[1, 2, 3, 4], K=k, N=n,
              bits=4, block_size=block)  # fmt: skip


@pytest.mark.parametrize("kind", [0, 1])
def test_floats_of_4_bits(kind: int) -> None:
    n, k, block = 6, 32, 16
    b, largest = bytes_of(np.uint8, n * k // 2), floats(n * k // block) ** 2
    check("MatMulBnb4", [floats(3, k), b, largest], held=[1, 2], K=k, N=n, block_size=block,
          quant_type=kind)  # fmt: skip


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("has_zero", [False, True])
def test_rows_of_packed_tables(bits: int, has_zero: bool) -> None:
    data, scale = bytes_of(np.uint8, 11, 48 * bits // 8), floats(11, 3)
    zero = bytes_of(np.uint8, 11, -(-3 * bits // 8)) if has_zero else None
    index = RANDOM.integers(-11, 11, (2, 5))
    index[0, 0], index[1, 1] = 11, -12
    check("GatherBlockQuantized", [data, index, scale, zero], held=[0, 2, 3], bits=bits,
          block_size=16)  # fmt: skip


@pytest.mark.parametrize(("axis", "along"), [(0, 1), (1, 0), (1, 2), (0, 0)])
@pytest.mark.parametrize("kind", [ml_dtypes.int4, ml_dtypes.uint4])
def test_elements_of_tables_of_4_bits(axis: int, along: int, kind: Any) -> None:
    data = RANDOM.integers(0, 8, (6, 20, 34)).astype(kind)
    shape = list(data.shape)
    shape[along] = -(-shape[along] // 16)
    index = RANDOM.integers(0, data.shape[axis], (2, 3)).astype(np.int32)
    zero = RANDOM.integers(0, 8, shape).astype(kind)
    check("GatherBlockQuantized", [data, index, floats(*shape), zero], held=[0, 2, 3],
          block_size=16, gather_axis=axis, quantize_axis=along)  # fmt: skip
