"""Fourier transforms and windows against numpy's, in all lengths, and the mel scale."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import from_numpy, symbol, trace_from, tracing
from hidet.optimize import optimize, split
from hidet.testing.defined import run


def signal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def parts(z):
    return np.stack([z.real, z.imag], -1)


@pytest.mark.parametrize("size", [1, 2, 7, 16, 129])
def test_there_and_back(size):
    x = signal(3, size, 2)
    z = x[..., 0].astype(np.float64) + 1j * x[..., 1]
    found = run(ops.dft, x)
    np.testing.assert_allclose(found, parts(np.fft.fft(z)), rtol=1e-6, atol=1e-6 * size**0.5)
    again = run(lambda v: ops.dft(v, inverse=True), found)
    np.testing.assert_allclose(again, x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("size", "length"), [(7, 7), (8, 8), (5, 9), (9, 4)])
def test_one_side_of_a_real_signal(size, length):
    x = signal(size, 2, 1)
    wanted = np.fft.rfft(x[..., 0].astype(np.float64), length, axis=0)
    found = run(lambda v: ops.dft(v, length, axis=0, onesided=True), x)
    np.testing.assert_allclose(found, parts(wanted), rtol=1e-6, atol=1e-6)
    back = run(lambda v: ops.dft(v, length, axis=0, onesided=True, inverse=True), found)
    back_wanted = np.fft.irfft(wanted, length, axis=0)
    np.testing.assert_allclose(back[..., 0], back_wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [34, 96, 129, 256, 388, 1000, 1024, 2187, 4096])
def test_products_of_factors_are_nearly_as_precise_as_ffts(size):
    """Beside float64, by the rounding of what an FFT gives: four times that of PyTorch's."""
    x = signal(4, size, 2)
    z = x[..., 0].astype(np.float64) + 1j * x[..., 1]
    for inverse, function in ((False, np.fft.fft), (True, np.fft.ifft)):
        wanted = function(z)
        found = run(lambda v, iteration=inverse: ops.dft(v, inverse=iteration), x)
        off = np.abs(found[..., 0] + 1j * found[..., 1] - wanted).max()
        assert off <= 4 * 1.3e-7 * np.abs(wanted).max()


@pytest.mark.parametrize("size", [33, 34, 65, 96, 130, 1000])
def test_halves_of_products_of_factors(size):
    x = signal(3, size, 1)
    wanted = np.fft.rfft(x[..., 0].astype(np.float64))
    half = run(lambda v: ops.dft(v, onesided=True), x)
    np.testing.assert_allclose(half, parts(wanted), rtol=1e-5, atol=1e-5)
    back = run(lambda v: ops.dft(v, size, onesided=True, inverse=True), half)
    np.testing.assert_allclose(back, x, rtol=1e-5, atol=1e-6)


def test_matrices_are_made_before_the_first_call():
    x = symbol([3, 1024, 2])
    with tracing():
        parts_of_graph = split(optimize(trace_from(ops.dft(x), [x])))
    assert "dft_matrix" not in {node.op.name for node in parts_of_graph.main.nodes}
    assert [node.op.name for node in parts_of_graph.main.nodes].count("matmul") == 2


def test_what_is_zero_is_nearly_zero():
    x = np.arange(100, dtype=np.float32).reshape(1, 10, 10, 1)
    found = run(lambda v: ops.dft(v, axis=1), x)
    assert np.abs(found[0, 1:, :, :] - parts(np.fft.fft(x[0, ..., 0], axis=0))[1:]).max() < 1e-4
    assert np.abs(found[0, 5, :, 1]).max() < 1e-9


def test_a_length_that_only_a_call_tells():
    x = symbol(["n", 3, 1])
    with tracing():
        graph = trace_from(ops.dft(x, axis=0), [x])
    value = signal(6, 3, 1)
    found = graph(from_numpy(value)).numpy()
    wanted = parts(np.fft.fft(value[..., 0], axis=0))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("onesided", [False, True])
def test_frames(onesided):
    x, window = signal(2, 37, 1), signal(8)
    found = run(lambda v, w: ops.stft(v, 5, w, onesided=onesided), x, window)
    starts = range(0, 37 - 8 + 1, 5)
    frames = np.stack([x[:, s : s + 8, 0] * window for s in starts], 1).astype(np.float64)
    wanted = parts((np.fft.rfft if onesided else np.fft.fft)(frames))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_windows_of_numpy():
    for function, wanted in (
        (ops.hann_window, np.hanning), (ops.blackman_window, np.blackman),
        (lambda n, **how: ops.hamming_window(n, alpha=0.54, **how), np.hamming),
    ):  # fmt: skip
        for size in (1, 2, 7, 33):
            found = run(lambda n=size, f=function: f(n, periodic=False))
            np.testing.assert_allclose(found, wanted(size), rtol=1e-6, atol=1e-7)
            found = run(lambda n=size, f=function: f(n))
            np.testing.assert_allclose(found, wanted(size + 1)[:size], rtol=1e-6, atol=1e-7)


def test_weights_of_mel_bins():
    found = ops.mel_weights(8, 16, 8192, 0, 8192 / 2).numpy()
    assert found.shape == (9, 8)
    assert found.max() == 1
    assert ((found >= 0) & (found <= 1)).all()
    with pytest.raises(BadArgument, match="half of the sample rate"):
        ops.mel_weights(8, 16, 4096, 0, 8192)


def test_what_is_no_signal():
    with pytest.raises(ShapeMismatch, match="a signal is"):
        ops.dft(symbol([3, 4]))
    with pytest.raises(DtypeMismatch, match="a signal of int32"):
        ops.dft(symbol([3, 1], "int32"))
    with pytest.raises(BadArgument, match="one-sided"):
        ops.dft(symbol([3, 2]), onesided=True)
    with pytest.raises(ShapeMismatch, match="a window"):
        ops.stft(symbol([1, 9, 1]), 2, symbol([4]), 5)
