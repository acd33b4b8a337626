"""Shapes, transforms and regions of ONNX Runtime's own domain."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from one_node import Array, by_hidet, check, model_of

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    """Numbers between -1 and 1."""
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def test_what_a_standard_operator_became() -> None:
    x = floats(3, 5, 7)
    check("Trilu", [x, np.array(1)], held=[1], upper=0)
    check("ExpandDims", [x, np.array(1, np.int32)], held=[1])
    check("GatherND", [x, np.array([[0, 1], [2, 3]])])
    check("Range", [np.array(1.0, np.float32), np.array(4.0, np.float32)], held=[0, 1])
    check("UnfoldTensor", [x], dim=1, size=2, step=2)
    check("GridSample", [floats(1, 2, 5, 7), floats(1, 3, 4, 2)], padding_mode="border")


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_padding(mode: str) -> None:
    pads = np.array([[0, 2, 1, 1]])
    value = np.array([1.5], np.float32)
    check("Pad", [floats(3, 4), pads, value], held=[1, 2], mode=mode)


def test_elements_once_each_as_they_come() -> None:
    x = np.array([2.0, 1.0, 1.0, 3.0, 4.0, 3.0], np.float32)
    check("Unique", [x], 3)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_distances_of_rows(metric: str) -> None:
    check("CDist", [floats(5, 7), floats(3, 7)], metric=metric)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_inverses(kind: type, size: int) -> None:
    x = RANDOM.standard_normal((2, 3, size, size)).astype(kind)
    (found,) = by_hidet(model_of("Inverse", [x], 1), [x])
    right = np.linalg.inv(x.astype(np.float64))
    allowed = 4 * np.finfo(kind).eps * np.linalg.cond(x) * np.abs(right).max((-2, -1))
    assert (np.abs(found - right).max((-2, -1)) <= allowed).all()


def test_the_pivot_of_an_inverse_may_be_elsewhere() -> None:
    x = np.array([[0.0, 2.0], [4.0, 0.0]], np.float32)
    check("Inverse", [x])


def test_transforms_of_real_signals() -> None:
    x = floats(3, 4, 6)
    for rank in (1, 2):
        axes = tuple(range(-rank, 0))
        wanted = np.fft.rfftn(x.astype(np.float64), axes=axes)
        (found,) = by_hidet(model_of("Rfft", [x], 1, signal_ndim=rank), [x])
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=1e-5)
        (back,) = by_hidet(model_of("Irfft", [found], 1, signal_ndim=rank), [found])
        np.testing.assert_allclose(back, x, atol=1e-6)


def test_products_of_complex_numbers() -> None:
    a, b = floats(3, 4, 2), floats(3, 4, 2)
    p, q = (each[..., 0] + 1j * each[..., 1] for each in (a, b))
    for kind, wanted in (("ComplexMul", p * q), ("ComplexMulConj", p * q.conj())):
        (found,) = by_hidet(model_of(kind, [a, b], 1), [a, b])
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=1e-6)


def test_rows_of_a_table() -> None:
    """ONNX Runtime has no kernel for it on CPUs."""
    weight, index = floats(5, 3), np.array([[4, 0], [1, 1]])
    given = [weight, index, np.array(1)]
    (found,) = by_hidet(model_of("TorchEmbedding", given, 1), given)
    np.testing.assert_array_equal(found, weight[index])


def test_padding_of_a_transposed_convolution_is_an_operand() -> None:
    given = [floats(1, 3, 5, 4), floats(3, 2, 3, 3), np.array([1, 0, 1, 1]), floats(2)]
    check("ConvTransposeWithDynamicPads", given, held=[2], strides=[2, 1])


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(4, 3), (1, 5)])
def test_regions_of_images(mode: str, size: tuple[int, int]) -> None:
    rois = np.array(
        [[0.1, 0.2, 0.9, 0.8], [0.0, 0.0, 1.0, 1.0], [-0.3, 0.5, 0.6, 1.4], [0.8, 0.9, 0.2, 0.1]],
        np.float32,
    )
    batch, crop = np.array([0, 1, 1, 0], np.int32), np.array(size, np.int32)
    check("CropAndResize", [floats(2, 3, 7, 6), rois, batch, crop], held=[3], mode=mode,
          extrapolation_value=0.5)  # fmt: skip
