"""Which access happens before which: clocks, releases, races."""
