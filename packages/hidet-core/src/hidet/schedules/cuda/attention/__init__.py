"""Attention: products, running softmax, keys walked in pieces."""
