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


CASES = [
    case("Complex-parts", of(tf.math.conj), A, B, is_open=False),
    case("Complex-arithmetic", of(lambda z: z * z + tf.math.conj(z) - z * tf.math.conj(z)), A, B,
         is_open=False),
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
    case("stft", lambda x: tf.abs(tf.signal.stft(x, 16, 5, 16)), SOUND, ulps=64, narrow=True),
]  # fmt: skip
