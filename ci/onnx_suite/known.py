"""`suite.json`: the cases of the suite that are not right or not compiled, and why."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parents[2] / "packages/hidet-onnx/tests/suite.json"
VERSION = "1.23.2"
"""The version of onnx whose cases are recorded; others have other cases."""
