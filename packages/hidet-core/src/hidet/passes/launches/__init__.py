"""How a kernel starts, waits and is watched."""
