"""Names of generated functions: what they compute, and a hash that tells different ones apart."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

from hidet.ir.kernel import Kernel

LONGEST = 48


def unique(kernel: Kernel, label: str) -> Kernel:
    """The kernel under a name that only kernels with the same text have, beginning with `label`."""
    plain = replace(kernel, name="kernel", place=None)
    digest = hashlib.sha256(str(plain).encode()).hexdigest()[:12]
    # Two underscores in a row are for the compilers' own names.
    label = re.sub(r"[\W_]+", "_", label)[:LONGEST].rstrip("_")
    return replace(kernel, name=f"{label}_{digest}")
