"""How times, errors and counts are taken; the same for every system that is compared."""
