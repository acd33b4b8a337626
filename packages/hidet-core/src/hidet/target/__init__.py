"""What code is compiled for: targets (`target.py`), and the data they are made of (`gpus.py`,
`cpus.py` as published, `measured.py`)."""

from hidet.target.gpus import MOST_SHARED_BYTES
from hidet.target.target import Target

__all__ = ["MOST_SHARED_BYTES", "Target"]
