"""Fusion: which operators share a kernel, and the surgery on the scheduled kernel.

Operators are scheduled alone; afterwards the scheduled kernel's reads take in producers and its
writes take in consumers.
"""

from hidet.fusion.fuse import fuse
from hidet.fusion.group import Group
from hidet.fusion.partition import partition

__all__ = ["Group", "fuse", "partition"]
