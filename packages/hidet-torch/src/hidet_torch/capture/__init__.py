"""From a model to fx graphs of ATen operators, and from those to compiled calls.

Start with `aot.py`, what torch.compile gives, and `capture.py`, which both ways share.
"""
