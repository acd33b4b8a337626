"""Which operators share a kernel, and which schedule it has."""
