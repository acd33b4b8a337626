"""Correctness reports for frontends: on what the framework computed for the same inputs."""

from hidet.build.correctness import correctness_report
from hidet.build.differences import Report, Row, expected_error, harmonic_error

__all__ = ["Report", "Row", "correctness_report", "expected_error", "harmonic_error"]
