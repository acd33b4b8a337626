"""Quantization: weights and activations of few bits."""
