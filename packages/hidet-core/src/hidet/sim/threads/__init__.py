"""Threads of a block that go together, apart, and wait for each other."""
