"""Expressions simplified and shared."""
