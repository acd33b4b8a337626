"""Candidates measured in the graph's own launches."""
