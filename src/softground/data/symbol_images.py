"""Image files as the inputs of a network that reads one symbol at a time."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..errors import DataError
from .images import Images, border, fit, read_colours, read_grey


def read_symbols(
    paths: Sequence[Path],
    sites: int,
    image: tuple[int, int, int],
    strip: bool = False,
    dtype: torch.dtype | None = None,
    contents: Mapping[Path, bytes] | None = None,
) -> Tensor:
    """Images ``[examples, sites, channels, height, width]``: bytes, or floats from 0 to 1 where ``dtype`` says so.

    With one channel they are grey, ink bright; with three, colours as they are.
    One file per symbol, or with ``strip`` one file per example, which is cut into ``sites`` parts of equal width. An
    image is padded to the network's proportions, never stretched, and then resized. ``contents`` are those of files
    that are not on the disk.
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
    """What most of the first and the last row shows."""
    shades = tuple(np.median(picture[[0, -1]], axis=(0, 1)).round().astype(int).ravel().tolist())
    return shades if len(shades) > 1 else shades[0]
