"""Reading and resizing grey images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from ....errors import DataError
from .source import Images


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
        with Image.open(path) as opened:
            image = ImageOps.exif_transpose(opened)
            if image.mode.startswith("I"):
                return (np.asarray(image, dtype=np.float64) / 257).clip(0, 255).astype(np.uint8)
            if "A" in image.getbands() or "transparency" in image.info:
                layers = np.asarray(image.convert("RGBA").convert("LA"), dtype=np.float64)
                return _flatten(layers[..., 0], layers[..., 1] / 255)
            return np.array(image.convert("L"), dtype=np.uint8)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check that the image folder is complete.") from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} cannot be read as an image ({error}): replace it or remove it.") from error


def _flatten(grey: npt.NDArray[np.float64], alpha: npt.NDArray[np.float64]) -> Images:
    ink = (grey * alpha).sum() / max(alpha.sum(), 1e-9)
    backdrop = 255.0 if ink < 128 else 0.0
    return (grey * alpha + backdrop * (1 - alpha)).round().astype(np.uint8)


def resize(images: Images, size: int) -> Images:
    """Images ``[images, height, width]`` as ``size`` x ``size``, bilinear, smoothed when they shrink."""
    if images.shape[1:] == (size, size):
        return images
    grey = torch.from_numpy(images)[:, None].float()
    scaled = torch.nn.functional.interpolate(grey, size=(size, size), mode="bilinear", antialias=True)
    return scaled[:, 0].round().clamp(0, 255).to(torch.uint8).numpy()


__all__ = ["read_grey", "resize"]
