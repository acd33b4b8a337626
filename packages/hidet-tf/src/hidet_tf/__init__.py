"""TensorFlow models on Hidet. Not usable yet: `compile` says so and names a way that works."""

from typing import NoReturn

from hidet.errors import NotYet
from hidet_tf.__about__ import __version__

__all__ = ["__version__", "compile"]


def compile(model: object, **options: object) -> NoReturn:
    """Raise `NotYet`: there is no importer for TensorFlow graphs."""
    raise NotYet(
        "hidet-tf cannot compile a model yet: it has no importer and no converters for TensorFlow",
        help="if the model exists in PyTorch, install hidet-torch; otherwise use "
        "tf.function(model, jit_compile=True)",
    )
