"""Any definition on a CPU."""
