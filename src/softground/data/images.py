"""Image files: read, pad and resize them as inputs of a network that reads single symbols."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..errors import DataError
from .checks import check_room

if TYPE_CHECKING:
    from PIL.Image import Image

Images = npt.NDArray[np.uint8]
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")  # for some others, Pillow starts other programs
LONGEST_SIDE = 4096  # pixels; a small file may unfold into a picture larger than the memory
RESIZED_TOGETHER = 64  # images; limits the size of floating-point copies


def read_grey(path: Path, content: bytes | None = None) -> Images:
    """Read an image file, or its ``content``, as grey levels ``[height, width]``.

    Transparent images get a white background if their ink is dark, a black one if it is light. Orientation tags apply.
    """
    return _read(path, content, _grey)


def read_colours(path: Path, content: bytes | None = None) -> Images:
    """Read it as red, green and blue ``[height, width, 3]``; transparent parts become white."""
    return _read(path, content, _colours)


def _read(path: Path, content: bytes | None, form: Callable[[Image], Images]) -> Images:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise DataError("Reading image files needs Pillow: pip install pillow.") from error
    try:
        if content is None and path.is_dir():
            raise ValueError("it is a folder; give the image files in it")
        if content is None and not path.is_file():  # opening a pipe would block
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
        if isinstance(error, UnidentifiedImageError):  # its message may name an object in memory
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
    """Resize without distortion: pad to the new proportions first, so a cropped minus is not stretched."""
    from PIL import Image

    rows, columns = image.shape[:2]
    scale = max(rows / height, columns / width)
    tall, wide = max(rows, round(height * scale)), max(columns, round(width * scale))
    shown = Image.fromarray(image)
    padded = Image.new(shown.mode, (wide, tall), background)
    padded.paste(shown, ((wide - columns) // 2, (tall - rows) // 2))
    return np.array(padded.resize((width, height), Image.Resampling.BILINEAR), dtype=np.uint8)


def resize(images: Images, size: int) -> Images:
    """Resize images ``[images, height, width]`` to ``size`` × ``size``, bilinear, smoothed when they shrink."""
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


def read_symbols(
    paths: Sequence[Path],
    sites: int,
    image: tuple[int, int, int],
    strip: bool = False,
    dtype: torch.dtype | None = None,
    contents: Mapping[Path, bytes] | None = None,
) -> Tensor:
    """Read images ``[examples, sites, channels, height, width]``: bytes, or floats from 0 to 1 by ``dtype``.

    With one channel they are grey, ink bright; with three, colours as they are.
    One file per symbol, or with ``strip`` one file per example, which is cut into ``sites`` parts of equal width. An
    image is padded to the network's proportions, never stretched, and then resized. ``contents`` replace the files.
    """
    channels, height, width = image
    if channels not in (1, 3):
        raise DataError(
            f"The run's network reads images of {channels} channels; image files are read as grey, with one, or "
            "in colours, with three."
        )
    if not paths:
        raise DataError(f"No image was given; give {'one file' if strip else f'{sites} files'} for each example.")
    if not strip and len(paths) % sites:
        raise DataError(
            f"{len(paths)} image{'s were' if len(paths) > 1 else ' was'} given; an example has {sites} symbols, one "
            f"file each. Give {sites} files or a multiple of that, or ask for strips, where one file shows all symbols "
            "of an example side by side."
        )
    symbols = []
    for path in paths:
        content = (contents or {}).get(path)
        picture = read_grey(path, content) if channels == 1 else read_colours(path, content)
        if channels == 1 and np.median(border(picture)) > 127:  # mostly background: ink is to be bright
            picture = 255 - picture
        if strip and picture.shape[1] < sites:
            raise DataError(f"{path} is {picture.shape[1]} pixels wide; that cannot be cut into {sites} symbols.")
        parts = np.array_split(picture, sites, axis=1) if strip else [picture]
        symbols += [fit(part, height, width, _background(part)) for part in parts]
    x = torch.from_numpy(np.stack(symbols)).view(-1, sites, height, width, channels).permute(0, 1, 4, 2, 3).contiguous()
    return x.to(dtype) / 255 if dtype and dtype.is_floating_point else x


def _background(picture: Images) -> int | tuple[int, ...]:
    """The median of the first and the last row."""
    shades = tuple(np.median(picture[[0, -1]], axis=(0, 1)).round().astype(int).ravel().tolist())
    return shades if len(shades) > 1 else shades[0]
