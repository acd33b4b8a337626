"""Tiles of a block: staged in shared memory, multiplied by warps."""
