"""Boards shown by images of handwritten digits.

Boards are valid ones drawn at random (see :mod:`.boards`); every cell shows an image of its digit. Training and test
images are disjoint. Images of a digit are used in a random order, each once before any is used again.
"""

from pathlib import Path

import numpy as np
import torch

from ...data.checks import check_room
from ...data.digits import Source, load_digits
from ...data.examples import Examples, Split
from ...data.idx import Digits
from ...errors import DataError
from .boards import Boards, random_boards

BYTES_PER_CELL = 16  # beside its image: its code and its image's place
LARGEST_DIGIT = 9  # of which there are images


def load(source: Source, data_dir: Path | None, size: int, train_size: int, test_size: int, seed: int) -> Split:
    """Boards of ``size`` × ``size``; which images are for testing depends on no seed."""
    if size > LARGEST_DIGIT:
        raise DataError(f"Boards of size {size} need digits up to {size}; there are images of 1 … {LARGEST_DIGIT}.")
    for name, count in (("train_size", train_size), ("test_size", test_size)):
        if count < 1:
            raise DataError(f"{name} is {count}; give a positive number of boards.")
    train, test, note = load_digits(source, data_dir)
    first, second = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    boards = _boards(train, size, train_size, first), _boards(test, size, test_size, second)
    return Split(*boards, f"{note} Images are used again when they run out.")


def _boards(pool: Digits, size: int, count: int, rng: np.random.Generator) -> Examples:
    check_room("boards", count, size**2 * (pool.images[0].size + BYTES_PER_CELL))
    codes = random_boards(size, count, rng)
    x = torch.from_numpy(pool.images[draw_images(pool, codes, rng)][:, :, None])
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
