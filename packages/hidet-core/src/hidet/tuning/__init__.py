"""The tuner: what the cost model thinks best is measured, checked, and remembered.

`hidet.tuning.export(path)` and `load(path)` carry results from one machine to another.
"""

from hidet.tuning.report import TuningWarning
from hidet.tuning.store import export, load

__all__ = ["TuningWarning", "export", "load"]
