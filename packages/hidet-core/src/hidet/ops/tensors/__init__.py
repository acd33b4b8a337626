"""Tensors made, viewed, cut, joined, padded and converted."""
