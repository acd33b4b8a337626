"""Fusion: which operators share a kernel, and the surgery on the scheduled kernel.

Operators are scheduled alone; afterwards the scheduled kernel's reads take in producers and its
writes take in consumers. Concatenations are written part by part where they lie.
"""

from hidet.fusion.fuse import fuse
from hidet.fusion.group import Group
from hidet.fusion.horizontal import unite
from hidet.fusion.partition import partition
from hidet.fusion.zero_copy_concat import join

__all__ = ["Group", "fuse", "join", "partition", "unite"]
