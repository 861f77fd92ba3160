"""A user's own images: one folder for each symbol, ``1`` to ``9``, ``plus``, ``minus``, ``times``, ``divide``."""

from pathlib import Path

import numpy as np

from ....data.checks import check_room
from ....data.examples import Split
from ....data.images import Images, border, check_same_size, fit, read_grey
from ....errors import DataError
from .alphabet import DIGITS
from .source import Plan, Pool, check_formulas, held_out, random_splits

NAMES: tuple[str, ...] = (*map(str, DIGITS), "plus", "minus", "times", "divide")  # in the order of SYMBOLS
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif")
TEST_EVERY = 5


def load(data_dir: Path, plan: Plan, image_size: int | None, seed: int) -> list[Split]:
    """Formulas of uniform symbols; a fifth of each symbol's images, the same under every seed, is for testing."""
    train, test = pools(data_dir, image_size)
    check_formulas(plan, train.images[0].size)
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)]
    note = (
        f"Images of folder {data_dir.name}, {len(train.images)} for training and {len(test.images)} others for "
        "testing; who wrote them is not known, so one hand may be on both sides."
    )
    return random_splits((train, test), plan, rngs, note)


def pools(data_dir: Path, image_size: int | None) -> tuple[Pool, Pool]:
    """Training and test images, ink bright, of one size, no picture twice."""
    files = _files(data_dir)
    images = [read_grey(path) for _, path in files]
    background = round(float(np.median([np.median(border(image)) for image in images])))
    if background > 127:
        images, background = [255 - image for image in images], 255 - background
    if image_size is not None:
        check_room("images", len(images), image_size**2)
        images = [fit(image, image_size, image_size, background) for image in images]
    check_same_size([path for _, path in files], images, "give image_size to resize all images")
    return _divide(data_dir, files, images)


def _files(data_dir: Path) -> list[tuple[int, Path]]:
    """The image files of each symbol, by name, with the symbol's label."""
    found = sorted(entry.name for entry in data_dir.iterdir() if entry.is_dir() and entry.name[0] not in "._")
    unknown, absent = [name for name in found if name not in NAMES], [name for name in NAMES if name not in found]
    if unknown or absent:
        blame = f"unknown folder {unknown[0]}" if unknown else f"no folder for {', '.join(absent)}"
        raise DataError(
            f"{data_dir}: {blame}. Found: {', '.join(found) or 'no folder'}; expected one for each symbol: "
            f"{', '.join(NAMES)}."
        )
    files = []
    for label, name in enumerate(NAMES):
        paths = [p for p in (data_dir / name).iterdir() if p.suffix.lower() in SUFFIXES and p.name[0] != "."]
        _check_enough(data_dir / name, len(paths))
        files += [(label, path) for path in sorted(paths)]
    return files


def _check_enough(folder: Path, count: int) -> None:
    if count < 2:
        raise DataError(
            f"{folder} has {count} distinct image{'' if count == 1 else 's'}: at least 2, one to train and one to test "
            f"on, are needed ({', '.join(SUFFIXES)})."
        )


def _divide(data_dir: Path, files: list[tuple[int, Path]], images: list[Images]) -> tuple[Pool, Pool]:
    """Drop repeated pictures, which would leak from training into test, then hold out a fifth of each symbol."""
    owner: dict[bytes, tuple[int, Path]] = {}
    distinct: list[list[Images]] = [[] for _ in NAMES]
    for (label, path), image in zip(files, images, strict=True):
        symbol, other = owner.setdefault(image.tobytes(), (label, path))
        if symbol != label:
            raise DataError(f"{other} and {path} are the same picture under two symbols: remove the wrong one.")
        if other == path:
            distinct[label].append(image)
    for name, shown in zip(NAMES, distinct, strict=True):
        _check_enough(data_dir / name, len(shown))
    labels = np.repeat(np.arange(len(NAMES)), [len(shown) for shown in distinct])
    test = np.concatenate([held_out(len(shown), TEST_EVERY) for shown in distinct])
    stacked = np.stack([image for shown in distinct for image in shown])
    return Pool(stacked[~test], labels[~test]), Pool(stacked[test], labels[test])
