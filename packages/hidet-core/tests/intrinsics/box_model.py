"""Boxes element by element, as the PTX ISA draws them: slow, and written without `boxes.py`."""

from itertools import product

import numpy as np

OUTSIDE = None


def tile_indices(of, shape, position):
    """For each element of a tiled box the index in the tensor, or OUTSIDE."""
    found = []
    for at in product(*map(range, of.box.sizes)):
        index = tuple(p + i * s for p, i, s in zip(position, at, of.box.steps, strict=True))
        inside = all(0 <= i < n for i, n in zip(index, shape, strict=True))
        found.append(index if inside else OUTSIDE)
    return found


def image_indices(of, shape, position, offsets):
    """For each element of an im2col box the index in the images, or OUTSIDE."""
    box, spatial = of.box, shape[1:-1]
    every = []  # all positions of the filter in all images, in order
    for image in range(position[0], position[0] + box.pixels + 1):
        axes = [
            range(low, size + high, step)
            for low, size, high, step in zip(box.lower, spatial, box.upper, box.steps, strict=True)
        ]
        every += [(image, *at) for at in product(*axes)]
    first = every.index(tuple(position[:-1]))
    found = []
    for image, *at in every[first : first + box.pixels]:
        pixel = (image, *(a + o for a, o in zip(at, offsets, strict=True)))
        for channel in range(position[-1], position[-1] + box.channels):
            index = (*pixel, channel)
            inside = all(0 <= i < n for i, n in zip(index, shape, strict=True))
            found.append(index if inside else OUTSIDE)
    return found


def indices(of, shape, position, offsets=()):
    """For each element of a box the index in the tensor, or OUTSIDE."""
    if hasattr(of.box, "pixels"):
        return image_indices(of, shape, position, offsets)
    return tile_indices(of, shape, position)


def box_of(of, tensor, position, offsets=()):
    """The box at a position, as it lies in shared memory without a swizzle."""
    found = np.zeros(len(indices(of, tensor.shape, position, offsets)), tensor.dtype)
    for i, index in enumerate(indices(of, tensor.shape, position, offsets)):
        if index is not OUTSIDE:
            found[i] = tensor[index]
        elif of.fill == "nan":
            found[i] = np.nan
    return found.reshape(of.shape)


def swizzled(of, box, base=0):
    """The box as it lies in shared memory from address `base` on, as bytes."""
    plain = np.ascontiguousarray(box).reshape(-1).view(np.uint8)
    found = np.zeros_like(plain)
    bits = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[of.swizzle]
    for offset in range(len(plain)):
        address = base + offset
        piece = (address // 16 % 8) ^ (address // 128 % 8 & bits)
        found[address // 128 * 128 + piece * 16 + address % 16 - base] = plain[offset]
    return found
