"""Reading, padding and resizing images, grey ones mostly."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from ..errors import DataError
from .checks import check_room

if TYPE_CHECKING:
    from PIL.Image import Image

Images = npt.NDArray[np.uint8]
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")  # Pillow knows more, and starts other programs for some
LONGEST_SIDE = 4096  # pixels; a small file may unfold into a picture larger than the memory
RESIZED_TOGETHER = 64  # images, so that their floating-point copies stay small


def read_grey(path: Path, content: bytes | None = None) -> Images:
    """An image file as grey levels ``[height, width]``; with ``content``, which is not on the disk, its name only.

    Transparent images get a white background where their ink is dark and a black one where it is light. Cameras'
    orientation tags are obeyed.
    """
    return _read(path, content, _grey)


def read_colours(path: Path, content: bytes | None = None) -> Images:
    """The same as red, green and blue ``[height, width, 3]``; what is transparent becomes white."""
    return _read(path, content, _colours)


def _read(path: Path, content: bytes | None, form: Callable[[Image], Images]) -> Images:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise DataError("Reading image files needs Pillow: pip install pillow.") from error
    try:
        if content is None and path.is_dir():
            raise ValueError("it is a folder; give the image files in it")
        if content is None and not path.is_file():  # opening a pipe would wait for ever
            raise FileNotFoundError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about tags, palettes and sizes
            with Image.open(path if content is None else BytesIO(content), formats=FORMATS) as opened:
                if not 1 <= min(opened.size) <= max(opened.size) <= LONGEST_SIDE:
                    raise ValueError(f"{opened.width} x {opened.height} pixels; a side has 1 to {LONGEST_SIDE:,}")
                return form(ImageOps.exif_transpose(opened))
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check that the image folder is complete.") from error
    except Exception as error:  # Pillow's decoders raise all kinds of errors
        why = str(error)[:200] or type(error).__name__
        if isinstance(error, UnidentifiedImageError):  # whose message may name an object in memory
            why = f"it is none of {', '.join(FORMATS)}"
        raise DataError(f"{path} cannot be read as an image ({why}): replace it or remove it.") from error


def _grey(image: Image) -> Images:
    if image.mode.startswith("I"):
        return (np.asarray(image, dtype=np.float32) / 257).clip(0, 255).astype(np.uint8)
    if "A" not in image.getbands() and "transparency" not in image.info:
        return np.array(image.convert("L"), dtype=np.uint8)
    grey, alpha = np.moveaxis(np.asarray(image.convert("RGBA").convert("LA"), dtype=np.float32), -1, 0)
    alpha = alpha / 255
    ink = (grey * alpha).sum(dtype=np.float64) / max(alpha.sum(dtype=np.float64), 1e-9)
    flat = grey * alpha + np.float32(255 if ink < 128 else 0) * (1 - alpha)
    return np.asarray(flat.round(), dtype=np.uint8)


def _colours(image: Image) -> Images:
    from PIL import Image as Pillow

    flat = image.convert("RGBA")
    return np.array(Pillow.alpha_composite(Pillow.new("RGBA", flat.size, "white"), flat).convert("RGB"), dtype=np.uint8)


def check_same_size(paths: Sequence[Path], images: Sequence[Images], remedy: str) -> None:
    """Refuse images of several sizes."""
    for path, image in zip(paths, images, strict=True):
        if image.shape != images[0].shape:
            raise DataError(
                f"{path} is {image.shape[1]}x{image.shape[0]} pixels but {paths[0]} is "
                f"{images[0].shape[1]}x{images[0].shape[0]}: {remedy}."
            )


def border(image: Images) -> Images:
    """The pixels along the edges."""
    return np.concatenate([image[0], image[-1], image[1:-1, 0], image[1:-1, -1]])


def fit(image: Images, height: int, width: int, background: int | tuple[int, ...]) -> Images:
    """Resize without distortion: a tightly cropped minus is padded to the new proportions first, not stretched."""
    from PIL import Image

    rows, columns = image.shape[:2]
    scale = max(rows / height, columns / width)
    tall, wide = max(rows, round(height * scale)), max(columns, round(width * scale))
    shown = Image.fromarray(image)
    padded = Image.new(shown.mode, (wide, tall), background)
    padded.paste(shown, ((wide - columns) // 2, (tall - rows) // 2))
    return np.array(padded.resize((width, height), Image.Resampling.BILINEAR), dtype=np.uint8)


def resize(images: Images, size: int) -> Images:
    """Images ``[images, height, width]`` as ``size`` × ``size``, bilinear, smoothed when they shrink."""
    if images.shape[1:] == (size, size):
        return images
    check_room("images", len(images), size**2)
    resized = np.empty((len(images), size, size), dtype=np.uint8)
    for first in range(0, len(images), RESIZED_TOGETHER):
        part = slice(first, first + RESIZED_TOGETHER)
        grey = torch.from_numpy(images[part])[:, None].float()
        scaled = torch.nn.functional.interpolate(grey, size=(size, size), mode="bilinear", antialias=True)
        resized[part] = scaled[:, 0].round().clamp(0, 255).to(torch.uint8).numpy()
    return resized
