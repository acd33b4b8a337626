"""Calls of compiled graphs: PyTorch's tensors in, PyTorch's tensors out.

Start with `run.py`; `fixed.py` is the short way that most calls take.
"""
