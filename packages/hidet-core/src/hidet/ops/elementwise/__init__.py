"""Each element by itself."""
