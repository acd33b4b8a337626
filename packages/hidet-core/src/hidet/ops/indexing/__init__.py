"""Elements by number: gather, scatter, sort, select."""
