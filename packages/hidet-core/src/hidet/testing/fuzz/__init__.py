"""Graphs made at random, computed in several ways, compared with float64, and made small."""

from hidet.testing.fuzz.cases import Case, random_case
from hidet.testing.fuzz.judge import Verdict, judged
from hidet.testing.fuzz.shrink import shrunk

__all__ = ["Case", "Verdict", "judged", "random_case", "shrunk"]
