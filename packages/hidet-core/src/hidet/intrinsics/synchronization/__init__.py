"""Barriers, clusters, atomics and asynchronous copies."""
