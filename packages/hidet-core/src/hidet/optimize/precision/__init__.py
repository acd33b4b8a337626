"""Types: narrower, whole numbers, packed."""
