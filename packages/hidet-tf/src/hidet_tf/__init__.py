"""TensorFlow and Keras models on Hidet: a lazy table of public names.

Lazy because core reads `hidet_tf.manifest`, and must not import TensorFlow to do so.
"""

from importlib import import_module

from hidet_tf.__about__ import __version__

# Public name -> the module that defines it, imported on first use. A public name must differ
# from every module's name in this package: importing the module would replace it.
PUBLIC: dict[str, str] = {
    "Compiled": "hidet_tf.model",
    "compile": "hidet_tf.model",
}

__all__ = ["__version__"]


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module 'hidet_tf' has no attribute {name!r}")
    value: object = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
