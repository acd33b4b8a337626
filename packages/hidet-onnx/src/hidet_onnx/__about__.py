"""The version of hidet-onnx, and only that."""

__version__ = "0.1.0"
