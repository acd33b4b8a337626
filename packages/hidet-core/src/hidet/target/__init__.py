"""What code is compiled for: targets (`target.py`), and the data they are made of (`gpus.py`,
`cpus.py` as published, `measured.py`)."""

from hidet.target.gpus import (
    ACCESS_BYTES,
    MAX_CLUSTER,
    MAX_THREADS,
    MOST_SHARED_BYTES,
    PAIR,
    WARP,
    WARPGROUP,
)
from hidet.target.target import Target

__all__ = [
    "ACCESS_BYTES",
    "MAX_CLUSTER",
    "MAX_THREADS",
    "MOST_SHARED_BYTES",
    "PAIR",
    "WARP",
    "WARPGROUP",
    "Target",
]
