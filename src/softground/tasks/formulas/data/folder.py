"""A user's own images: one folder for each symbol, ``1`` to ``9``, ``plus``, ``minus``, ``times``, ``divide``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ....data.examples import Split
from ....data.images import Images, read_grey
from ....errors import DataError
from .alphabet import DIGITS
from .source import TEST_FORMULAS, TRAIN_FORMULAS, Pool, held_out, random_examples

NAMES: tuple[str, ...] = (*(str(digit) for digit in DIGITS), "plus", "minus", "times", "divide")
"""Folder names, in the order of ``SYMBOLS``."""

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif")
TEST_EVERY = 5


def load(
    data_dir: Path, length: int, train_size: int | None, test_size: int | None, image_size: int | None, seed: int
) -> Split:
    """Formulas of uniform symbols; a fifth of each symbol's images, the same under every seed, is for testing."""
    train, test = pools(data_dir, image_size)
    draw_train, draw_test = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return Split(
        random_examples(train, train_size or TRAIN_FORMULAS, length, draw_train),
        random_examples(test, test_size or TEST_FORMULAS, length, draw_test),
        f"Images of folder {data_dir.name}, {len(train.images)} for training and {len(test.images)} others for "
        "testing; who wrote them is not known, so one hand may be on both sides.",
    )


def pools(data_dir: Path, image_size: int | None) -> tuple[Pool, Pool]:
    """Training and test images, ink bright, of one size, no picture twice."""
    paths = _paths(data_dir)
    images = [[read_grey(path) for path in listed] for listed in paths]
    if image_size is None:
        _same_size(paths, images)
    background = round(float(np.median([np.median(_border(image)) for listed in images for image in listed])))
    if background > 127:
        images = [[255 - image for image in listed] for listed in images]
        background = 255 - background
    if image_size is not None:
        images = [[_fit(image, image_size, background) for image in listed] for listed in images]
    return _divide(data_dir, paths, images)


def _paths(data_dir: Path) -> list[list[Path]]:
    """The image files of each symbol, by name."""
    found = sorted(entry.name for entry in data_dir.iterdir() if entry.is_dir() and entry.name[0] not in "._")
    unknown, absent = [name for name in found if name not in NAMES], [name for name in NAMES if name not in found]
    if unknown or absent:
        blame = f"unknown folder {unknown[0]}" if unknown else f"no folder for {', '.join(absent)}"
        raise DataError(
            f"{data_dir}: {blame}. Found: {', '.join(found) or 'no folder'}; expected one for each symbol: "
            f"{', '.join(NAMES)}."
        )
    paths = []
    for name in NAMES:
        listed = sorted(
            path for path in (data_dir / name).iterdir() if path.suffix.lower() in SUFFIXES and path.name[0] != "."
        )
        if len(listed) < 2:
            raise _too_few(data_dir / name, len(listed), "")
        paths.append(listed)
    return paths


def _too_few(folder: Path, count: int, kind: str) -> DataError:
    return DataError(
        f"{folder} has {count} {kind}image{'' if count == 1 else 's'}: at least 2, one to train and one to test on, "
        f"are needed ({', '.join(SUFFIXES)})."
    )


def _same_size(paths: list[list[Path]], images: list[list[Images]]) -> None:
    first = images[0][0]
    for listed, shown in zip(paths, images, strict=True):
        for path, image in zip(listed, shown, strict=True):
            if image.shape != first.shape:
                raise DataError(
                    f"{path} is {image.shape[1]}x{image.shape[0]} pixels but {paths[0][0]} is "
                    f"{first.shape[1]}x{first.shape[0]}: give image_size to resize all images."
                )


def _border(image: Images) -> npt.NDArray[np.uint8]:
    return np.concatenate([image[0], image[-1], image[1:-1, 0], image[1:-1, -1]])


def _fit(image: Images, size: int, background: int) -> Images:
    """Resize without distortion: a tightly cropped minus is padded to a square first, not stretched."""
    from PIL import Image

    height, width = image.shape
    side = max(height, width)
    square = Image.new("L", (side, side), background)
    square.paste(Image.fromarray(image), ((side - width) // 2, (side - height) // 2))
    return np.array(square.resize((size, size), Image.Resampling.BILINEAR), dtype=np.uint8)


def _divide(data_dir: Path, paths: list[list[Path]], images: list[list[Images]]) -> tuple[Pool, Pool]:
    """Drop repeated pictures, which would leak from training into test, then hold out a fifth of each symbol."""
    owner: dict[bytes, tuple[int, Path]] = {}
    sides: dict[bool, list[tuple[int, Images]]] = {False: [], True: []}
    for label, (listed, shown) in enumerate(zip(paths, images, strict=True)):
        distinct = []
        for path, image in zip(listed, shown, strict=True):
            symbol, other = owner.setdefault(image.tobytes(), (label, path))
            if symbol != label:
                raise DataError(f"{other} and {path} are the same picture under two symbols: remove the wrong one.")
            if other == path:
                distinct.append(image)
        if len(distinct) < 2:
            raise _too_few(data_dir / NAMES[label], len(distinct), "distinct ")
        for image, test in zip(distinct, held_out(len(distinct), TEST_EVERY).tolist(), strict=True):
            sides[test].append((label, image))
    train, test_pool = (
        Pool(np.stack([image for _, image in side]), np.array([label for label, _ in side], dtype=np.int64))
        for side in (sides[False], sides[True])
    )
    return train, test_pool
