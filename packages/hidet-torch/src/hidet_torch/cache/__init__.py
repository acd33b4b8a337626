"""Graphs that are known again: found by their text and circumstances, without being imported."""
