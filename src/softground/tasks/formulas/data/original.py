"""HWF as first published: ``expr_train.json`` and ``expr_test.json`` beside a folder of small JPGs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from ....data.images import Images, read_grey
from ....errors import DataError
from ....files import Unreadable, read_bounded
from .listing import Listing, Published, chosen
from .source import Indices, Sizes

FILES = ("expr_train.json", "expr_test.json")
LIST_LIMIT = 2**26  # bytes; the published lists have 2 · 10⁶
IMAGE_FOLDERS = ("Handwritten_Math_Symbols", "symbol_images", ".")


def read(data_dir: Path, length: int, sizes: Sizes) -> Published:
    """Read the lists, keep formulas of the wanted length, then read only the images they show."""
    sides = [
        _formulas(data_dir / file, length, size, side)
        for file, side, size in zip(FILES, ("train", "test"), sizes, strict=True)
    ]
    names = sorted({name for shown, _ in sides for row in shown for name in row})
    images = _images(_folder(data_dir, names[0]), names)
    place = {name: at for at, name in enumerate(names)}
    train, test = (Listing(np.array([[place[n] for n in row] for row in shown]), codes) for shown, codes in sides)
    return Published(images, train, test)


def _formulas(path: Path, length: int, size: int | None, side: str) -> tuple[list[list[str]], Indices]:
    """The names of each formula's images, and its codes."""
    if not path.is_file():
        raise DataError(f"{path} does not exist: the original layout of HWF needs {' and '.join(FILES)}.")
    try:
        entries = json.loads(read_bounded(path, LIST_LIMIT))
    except Unreadable as error:
        raise DataError(f"{path} cannot be read ({error}): fetch it again.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON ({error}): fetch it again.") from error
    if not isinstance(entries, list):
        raise DataError(f"{path} holds a {type(entries).__name__}, but a list of formulas is expected: fetch it again.")
    for at, entry in enumerate(entries):
        if not _well_formed(entry):
            raise DataError(
                f"{path}, entry {at}: a formula needs 'expr', 'res' and one path in 'img_paths' for each symbol of "
                "'expr': fetch the file again."
            )
    places, codes = chosen([(entry["expr"], entry["res"]) for entry in entries], length, size, side, path)
    return [entries[place]["img_paths"] for place in places], codes


def _well_formed(entry: object) -> bool:
    match entry:
        case {"expr": str(text), "res": _, "img_paths": list(paths)}:
            return len(paths) == len(text) and all(isinstance(path, str) for path in paths)
    return False


def _folder(data_dir: Path, name: str) -> Path:
    """The folder the image paths are relative to."""
    for folder in IMAGE_FOLDERS:
        with suppress(OSError):  # a name that is too long
            if (data_dir / folder / name).is_file():
                return data_dir / folder
    tried = ", ".join(str(data_dir / folder) for folder in IMAGE_FOLDERS)
    raise DataError(f"Image {name} not found in any of {tried}: unpack the HWF images into one of them.")


def _images(folder: Path, names: Sequence[str]) -> Images:
    images: list[Images] = []
    for name in names:
        image = read_grey(folder / name)
        if images and image.shape != images[0].shape:
            raise DataError(
                f"{folder / name} is {image.shape[1]}x{image.shape[0]} pixels but {folder / names[0]} is "
                f"{images[0].shape[1]}x{images[0].shape[0]}: HWF images all have one size, so fetch them again."
            )
        images.append(image)
    return 255 - np.stack(images)
