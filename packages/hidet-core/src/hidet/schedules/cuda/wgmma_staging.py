"""The shared memory through which warps of warpgroups bring what they write, by whole lines."""

ROWS, COLUMNS = 16, 64
"""What a warp writes at once."""
LANES = 8
"""Elements of a 16-byte access; so many between rows keep them in different banks."""


def staging_shape(warps: int) -> tuple[int, int, int]:
    """The shape in shared memory of what warps are about to write."""
    return warps, ROWS, COLUMNS + LANES
