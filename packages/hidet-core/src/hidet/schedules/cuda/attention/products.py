"""The two matmuls of attention, q @ k^T and weights @ v, as the main loop asks for them."""

from __future__ import annotations

from typing import Any

from hidet.lang import Int, Registers, Shared, record


@record
class Products:
    """The matmuls of one warp, whose operands lie in shared memory, rows one vector apart.

    Scores, weights and accumulators are fragments of `mma_c`: float32[down, across, 4].
    """

    tile_q: Shared
    """q[1, rows of the block, size + vector]."""
    tiles_k: Shared
    tiles_v: Shared
    """By stage, key and element of a row."""
    depth: int
    """Elements of a row of q and k."""
    row: Any
    key: Any
    """The warp's first row of q, and its first key, in their tiles."""
    q_fragments: Any = None
    """Registers for the warp's rows of q, if they stay there: [down, fragments of a row, 8]."""

    def load_q(self) -> None:
        """A part of kernels: the warp's rows of q go to the registers where they stay."""
        raise NotImplementedError

    def qk(self, stage: Int, scores: Registers) -> None:
        """A part of kernels: the warp's products of q and a tile of k are added to `scores`."""
        raise NotImplementedError

    def pv(self, stage: Int, weights: Registers, accumulators: Registers) -> None:
        """A part of kernels: the products of weights and a tile of v are added up."""
        raise NotImplementedError
