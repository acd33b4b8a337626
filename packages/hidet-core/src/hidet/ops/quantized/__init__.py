"""Weights and activations of few bits."""
