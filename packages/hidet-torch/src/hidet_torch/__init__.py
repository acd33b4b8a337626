"""PyTorch models on Hidet: a lazy table of public names.

Lazy because core reads `hidet_torch.manifest`, and must not import PyTorch to do so.
"""

from importlib import import_module

from hidet_torch.__about__ import __version__

# Public name -> the module that defines it, imported on first use. A public name must differ
# from every module's name in this package: importing the module would replace it.
PUBLIC: dict[str, str] = {
    "compile": "hidet_torch.exported",
    "dynamo_config": "hidet_torch.config",
    "explain": "hidet_torch.reports.explaining",
    "refresh": "hidet_torch.weights.weights",
}

__all__ = ["__version__"]


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module 'hidet_torch' has no attribute {name!r}")
    value: object = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
