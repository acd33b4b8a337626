"""Operators of ONNX Runtime's own domain, `com.microsoft`, by family.

ONNX Runtime's optimizers and quantisers, Olive and onnxruntime-genai write them. Each converter is
made of hidet's operators, so that what it computes is fused like any other part of a model.
"""
