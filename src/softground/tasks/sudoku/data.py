"""Boards shown by images of handwritten digits.

Boards are valid ones drawn at random (:mod:`.boards`); every cell shows an image of its digit. Training and test images
are disjoint. Images of a digit are used in a random order, each once before any is used again. So they recur; a
validation part has images of its own.
"""

from functools import partial
from pathlib import Path

import numpy as np
import torch

from ...data.checks import check_room
from ...data.digits import Digits, Source, load_digits, put_away
from ...data.examples import Examples, Split, held_out
from ...data.images import resize
from ...errors import DataError
from .boards import BOARDS, Boards

BYTES_PER_CELL = 16  # beside its image: its code and its image's place
LARGEST_DIGIT = 9  # of which there are images


def load(
    source: Source,
    data_dir: Path | None,
    size: int,
    train_size: int,
    test_size: int,
    seed: int,
    which: str = "all",
    image_size: int | None = None,
) -> Split:
    """Boards of ``size`` × ``size``; which images are for testing depends on no seed."""
    if image_size is not None and not 4 <= image_size <= 1024:
        raise DataError(f"image_size is {image_size}: give 4 to 1,024 pixels, or leave it out.")
    if size > LARGEST_DIGIT:
        raise DataError(f"Boards of size {size} need digits up to {size}; there are images of 1 … {LARGEST_DIGIT}.")
    for name, count in (("train_size", train_size), ("test_size", test_size)):
        if count < 1:
            raise DataError(f"{name} is {count}; give a positive number of boards.")
    train, test, note = load_digits(source, data_dir)
    first, second = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    area = train.images[0].size if image_size is None else image_size**2
    check_room("boards", train_size + test_size, size**2 * (train.images[0].size + area + BYTES_PER_CELL))
    drawn = partial(_boards, size=size, which=which, image_size=image_size)
    boards = drawn(train, train_size, first), drawn(test, test_size, second)

    def apart(share: float, chance: int) -> tuple[Examples, Examples]:
        few, ((seen, one), (held, two)) = held_out(train_size, share), put_away(train, share, chance)
        return drawn(seen, train_size - few, one), drawn(held, few, two)

    return Split(*boards, f"{note} Images are used again when they run out.", apart=apart)


def _boards(
    pool: Digits, count: int, rng: np.random.Generator, *, size: int, which: str, image_size: int | None
) -> Examples:
    height, width = pool.images.shape[1:] if image_size is None else (image_size, image_size)
    codes = BOARDS[which](size, count, rng)
    images = pool.images[draw_images(pool, codes, rng)].reshape(-1, *pool.images.shape[1:])
    images = images if image_size is None else resize(images, image_size)
    x = torch.from_numpy(images.reshape(count, size**2, 1, height, width))
    return Examples(x, [True] * count, torch.from_numpy(codes))


def draw_images(pool: Digits, codes: Boards, rng: np.random.Generator) -> Boards:
    """The image of each cell ``[boards, S²]``: of digit code + 1, in rounds of random order."""
    index = np.empty_like(codes)
    for code in np.unique(codes):
        places = np.flatnonzero(pool.labels == code + 1)
        if not len(places):
            raise DataError(f"The images hold no {code + 1}; every digit of a board needs at least one.")
        wanted = codes == code
        rounds = -(-int(wanted.sum()) // len(places))
        index[wanted] = np.concatenate([rng.permutation(places) for _ in range(rounds)])[: wanted.sum()]
    return index
