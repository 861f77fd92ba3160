"""Boards shown by images of handwritten digits.

Boards are valid ones drawn at random (see :mod:`.boards`); every cell shows an image of its digit. Training and test
images are disjoint. Images of a digit are used in a random order, each once before any is used again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from ...data.embedded import embedded_digits
from ...data.examples import Examples
from ...data.idx import Digits, load_idx_digits
from ...data.room import check_room
from ...errors import DataError
from .boards import Boards, random_boards

Source = Literal["digits", "mnist"]
BYTES_PER_CELL = 16  # beside its image: its code and its image's place
LARGEST = 9  # there are images of the digits 1 … 9


@dataclass(frozen=True)
class BoardData:
    """Boards to train and to test on.

    ``x`` holds uint8 images ``[boards, S², 1, height, width]``, ink 255 on 0; every answer is ``True``; ``symbols`` are
    the true codes. ``note`` says in one sentence where the images come from.
    """

    train: Examples
    test: Examples
    note: str


def load(source: Source, data_dir: Path | None, size: int, train_size: int, test_size: int, seed: int) -> BoardData:
    """Boards of ``size`` × ``size``; which images are for testing depends on no seed."""
    if size > LARGEST:
        raise DataError(f"Boards of size {size} need digits up to {size}; there are images of 1 … {LARGEST}.")
    for name, count in (("train_size", train_size), ("test_size", test_size)):
        if count < 1:
            raise DataError(f"{name} is {count}; give a positive number of boards.")
    if source == "mnist":
        if data_dir is None:
            raise DataError("--data mnist needs --data-dir, the folder that holds MNIST's IDX files.")
        train, test = (load_idx_digits(data_dir, part) for part in ("train", "test"))
        note = "MNIST digits; training boards show images of its training set, test boards of its test set."
    else:
        train, test = embedded_digits()
        note = (
            "Real 8×8 handwritten digits of scikit-learn's load_digits; training and test images are disjoint, but "
            "few: images are used again when they run out."
        )
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)]
    return BoardData(_boards(train, size, train_size, streams[0]), _boards(test, size, test_size, streams[1]), note)


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
