"""Schedules for CUDA: tiles of shared memory and registers, tensor cores."""
