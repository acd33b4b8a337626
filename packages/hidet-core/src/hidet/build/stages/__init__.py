"""The parts of a graph that are planned apart: bodies of loops, steps of the host."""
