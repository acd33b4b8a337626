"""Indices become addresses; accesses become vectors."""
