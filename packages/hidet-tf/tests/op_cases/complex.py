"""Complex numbers and Fourier transforms, within functions of real numbers."""

import tensorflow as tf

from op_cases.case import case, floats

A, B = floats(3, 8), floats(3, 8, salt="b")
SOUND = floats(2, 50)


def of(function):
    """The parts of a function of complex numbers of two parts."""

    def run(x, y):
        found = function(tf.complex(x, y))
        return tf.math.real(found), tf.math.imag(found)

    return run


def moved(z):
    """The numbers in another order and shape."""
    rows = tf.expand_dims(tf.reshape(tf.transpose(z), [4, 2, 3])[::-1, 1], 1)
    twice = tf.tile(tf.squeeze(rows[:, :, :2], [1]), [1, 2])
    return twice + tf.broadcast_to(rows[:1, 0, :1], [4, 4])


CASES = [
    case("Complex-parts", of(tf.math.conj), A, B, is_open=False),
    case("Complex-arithmetic", of(lambda z: z * z + tf.math.conj(z) - z * tf.math.conj(z)), A, B,
         is_open=False),
    case("Complex-exp", of(lambda z: tf.exp(z) + tf.square(z)), A, B, ulps=16, is_open=False),
    case("Complex-moved", of(moved), A, B, is_open=False),
    case("dct", lambda x: tf.signal.dct(x, type=2, norm="ortho"), A, ulps=64, narrow=True),
    case("ComplexAbs", lambda x, y: (tf.abs(tf.complex(x, y)), tf.math.angle(tf.complex(x, y))),
         A, B, is_open=False),
    case("FFT", of(tf.signal.fft), A, B, ulps=32, narrow=True, is_open=False),
    case("IFFT", of(tf.signal.ifft), A[:, :7], B[:, :7], ulps=32, narrow=True, is_open=False),
    case("RFFT", lambda x: tf.abs(tf.signal.rfft(x)), A, ulps=32, narrow=True),
    case("RFFT-longer", lambda x: tf.math.real(tf.signal.rfft(x, [11])), A, ulps=32, narrow=True),
    case("IRFFT", lambda x: tf.signal.irfft(tf.signal.rfft(x) * tf.signal.rfft(x)), A, ulps=32,
         narrow=True),
    case("IRFFT-odd", lambda x: tf.signal.irfft(tf.signal.rfft(x, [7]), [7]), A, ulps=32,
         narrow=True),
    case("FFT2D-casts", lambda x: tf.cast(tf.signal.fft2d(tf.cast(x, tf.complex64)), tf.float32),
         floats(2, 7, 9), ulps=64, narrow=True),
    case("FFT3D", of(lambda z: tf.signal.ifft2d(tf.signal.fft3d(z))), floats(3, 5, 4),
         floats(3, 5, 4, salt="b"), ulps=64, narrow=True, is_open=False),
    case("IFFT3D", of(tf.signal.ifft3d), floats(3, 5, 4), floats(3, 5, 4, salt="b"), ulps=64,
         narrow=True, is_open=False),
    case("RFFT2D", lambda x: tf.abs(tf.signal.rfft2d(x)), floats(2, 7, 9), ulps=64, narrow=True),
    case("RFFT2D-sizes", lambda x: tf.abs(tf.signal.rfft2d(x, [5, 12])), floats(2, 7, 9), ulps=64,
         narrow=True),
    case("IRFFT2D", lambda x: tf.signal.irfft2d(-tf.signal.rfft2d(x), [7, 9]), floats(2, 7, 9),
         ulps=64, narrow=True),
    case("Complex-quotient", of(lambda z: z / (tf.math.conj(z) + 3.0)), A, B, ulps=32,
         is_open=False),
    case("stft", lambda x: tf.abs(tf.signal.stft(x, 16, 5, 16)), SOUND, ulps=64, narrow=True),
]  # fmt: skip
