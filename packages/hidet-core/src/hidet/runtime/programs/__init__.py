"""Bound plans that run: on a host, on a stream, in a CUDA graph, in the simulator."""
