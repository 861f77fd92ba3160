"""Image files as the inputs of a network that reads one symbol at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..errors import DataError
from .images import Images, read_grey


def read_symbols(paths: Sequence[Path], sites: int, image: tuple[int, int, int], strip: bool) -> Tensor:
    """Bytes ``[examples, sites, 1, height, width]``, ink bright, as networks are trained on.

    One file a symbol, or with ``strip`` one file an example, cut into ``sites`` parts of equal width. An image is laid
    on a background of the network's proportions, never stretched, and made as large as the network wants it.
    """
    channels, height, width = image
    if channels != 1:
        raise DataError(f"The run's network reads images of {channels} channels; files are read as grey ones.")
    if not paths:
        raise DataError(f"No image was given; give {'one file' if strip else f'{sites} files'} for each example.")
    if not strip and len(paths) % sites:
        raise DataError(
            f"{len(paths)} images were given; an example has {sites} symbols, a file each. Give {sites} files, or a "
            "multiple of that; or --strip, where a file shows all symbols of an example side by side."
        )
    symbols = []
    for path in paths:
        picture = _bright(read_grey(path))
        if strip and picture.shape[1] < sites:
            raise DataError(f"{path} is {picture.shape[1]} pixels wide; that cannot be cut into {sites} symbols.")
        parts = np.array_split(picture, sites, axis=1) if strip else [picture]
        symbols += [_fit(part, height, width) for part in parts]
    return torch.from_numpy(np.stack(symbols)).view(-1, sites, 1, height, width)


def _bright(picture: Images) -> Images:
    """Ink bright on dark: what most of the border shows is the background."""
    border = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    return 255 - picture if np.median(border) > 127 else picture


def _fit(picture: Images, height: int, width: int) -> Images:
    from PIL import Image

    rows, columns = picture.shape
    scale = max(rows / height, columns / width)
    tall, wide = max(rows, round(height * scale)), max(columns, round(width * scale))
    ground = Image.new("L", (wide, tall), round(float(np.median(picture[[0, -1]]))))
    ground.paste(Image.fromarray(picture), ((wide - columns) // 2, (tall - rows) // 2))
    return np.array(ground.resize((width, height), Image.Resampling.BILINEAR), dtype=np.uint8)
