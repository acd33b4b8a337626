"""What was built before, by what it was built from."""
