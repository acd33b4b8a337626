"""Correctness reports for frontends: on what the framework computed for the same inputs."""

from hidet.build.correctness import correctness_report
from hidet.build.differences import Report, Row, harmonic_error
from hidet.build.leeway import error_of_results

__all__ = ["Report", "Row", "correctness_report", "error_of_results", "harmonic_error"]
