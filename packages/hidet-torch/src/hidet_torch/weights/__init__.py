"""The model's weights: constants in PyTorch's own memory, looked at before each call.

Start with `weight.py`, one of them, and `weights.py`, those of a graph and what is noticed of them.
"""
