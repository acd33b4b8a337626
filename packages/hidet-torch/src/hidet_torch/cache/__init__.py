"""The graph cache: a graph is found again by its text and its cache key, without being imported."""
