"""Graph to graph, one pass a file; `pipeline.py` lists them in order."""

from hidet.optimize.pipeline import PASSES, optimize
from hidet.optimize.split import Parts, split

__all__ = ["PASSES", "Parts", "optimize", "split"]
