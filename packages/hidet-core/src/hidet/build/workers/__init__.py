"""Processes that compile and measure beside the one that asks."""
