"""Numbers drawn by counters."""
