"""Schedules for the CPU: packed panels, vectors of sums, threads over tiles."""
