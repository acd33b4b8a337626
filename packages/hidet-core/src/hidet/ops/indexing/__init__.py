"""Indexing: gather, scatter, sort, select."""
