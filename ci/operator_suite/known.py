"""`operators.json`: the operators that are not right or not compiled, and why."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "packages/hidet-torch/tests/operators.json"
PAGE = ROOT / "docs/operators.md"
VERSION = "2.13"
"""The version of PyTorch whose samples are recorded; others have other samples."""
NO_GRAPH = "torch.compile makes no graph of it"
"""What is left of an operator of which Dynamo gives no graph at all."""
ON_GPUS = "PyTorch runs it on GPUs alone"
FAILS_ITSELF = "what torch.compile captures fails without hidet, too"
UNJUDGED = (ON_GPUS, FAILS_ITSELF)
"""What is left of operators of which a CPU's results cannot be right or wrong."""
