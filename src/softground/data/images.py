"""Reading and resizing grey images."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from ..errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

Images = npt.NDArray[np.uint8]
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")
"""What a picture may be. Pillow knows more, some of which start other programs."""

LONGEST_SIDE = 4096
"""Pixels. A small file may unfold into a picture larger than the memory; none of a symbol needs to be this large."""


def read_grey(path: Path) -> Images:
    """An image file as grey levels ``[height, width]``.

    Transparent images are laid on white where their ink is dark and on black where it is light, so
    that ink and background stay apart. Orientation tags of cameras are obeyed.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise DataError("Reading image files needs Pillow: pip install pillow.") from error
    try:
        if not path.is_file():  # opening a pipe would wait for ever
            raise FileNotFoundError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on tags, palettes and sizes: an image is read, or it is refused
            with Image.open(path, formats=FORMATS) as opened:
                if not 1 <= min(opened.size) <= max(opened.size) <= LONGEST_SIDE:
                    raise ValueError(f"{opened.width} x {opened.height} pixels; a side has 1 to {LONGEST_SIDE:,}")
                return _grey(ImageOps.exif_transpose(opened))
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check that the image folder is complete.") from error
    except Exception as error:  # Pillow lets through whatever its decoders stumble over
        raise DataError(
            f"{path} cannot be read as an image ({str(error)[:200] or type(error).__name__}): replace it or remove it."
        ) from error


def _grey(image: Image) -> Images:
    if image.mode.startswith("I"):
        return (np.asarray(image, dtype=np.float32) / 257).clip(0, 255).astype(np.uint8)
    if "A" in image.getbands() or "transparency" in image.info:
        layers = np.asarray(image.convert("RGBA").convert("LA"))
        return _flatten(layers[..., 0].astype(np.float32), layers[..., 1].astype(np.float32))
    return np.array(image.convert("L"), dtype=np.uint8)


def _flatten(grey: npt.NDArray[np.float32], alpha: npt.NDArray[np.float32]) -> Images:
    alpha /= 255
    ink = (grey * alpha).sum(dtype=np.float64) / max(alpha.sum(dtype=np.float64), 1e-9)
    backdrop = np.float32(255 if ink < 128 else 0)
    return (grey * alpha + backdrop * (1 - alpha)).round().astype(np.uint8)


def resize(images: Images, size: int) -> Images:
    """Images ``[images, height, width]`` as ``size`` x ``size``, bilinear, smoothed when they shrink."""
    if images.shape[1:] == (size, size):
        return images
    grey = torch.from_numpy(images)[:, None].float()
    scaled = torch.nn.functional.interpolate(grey, size=(size, size), mode="bilinear", antialias=True)
    return scaled[:, 0].round().clamp(0, 255).to(torch.uint8).numpy()
