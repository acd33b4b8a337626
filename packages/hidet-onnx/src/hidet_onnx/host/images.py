"""Image files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet_onnx.host.packages import package

MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


def image_decoder(encoded: np.ndarray[Any, Any], *, pixel_format: str = "RGB") -> Any:
    """The pixels [height, width, channels] of an image file's bytes.

    Pillow's limit of pixels, past which a file is taken for an attack, is an error here.
    """
    if pixel_format not in MODES:
        raise BadArgument(f"ImageDecoder has no pixel format {pixel_format!r}")
    pillow = package("PIL.Image")
    try:
        with pillow.open(io.BytesIO(encoded.tobytes())) as image:
            if pillow.MAX_IMAGE_PIXELS and image.width * image.height > pillow.MAX_IMAGE_PIXELS:
                raise BadArgument(f"an image of {image.width} x {image.height} pixels")
            pixels = np.asarray(image.convert(MODES[pixel_format]))
    except (OSError, SyntaxError, pillow.DecompressionBombError) as error:
        raise BadArgument(f"no image that Pillow reads: {error}") from None
    if pixel_format == "Grayscale":
        return pixels[:, :, None]
    return pixels[:, :, ::-1] if pixel_format == "BGR" else pixels
