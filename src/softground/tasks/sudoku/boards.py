"""Valid boards, all of them for 4×4 and random ones for larger boards; and boards shown by images of digits.

The 288 boards of 4×4 are listed, so that draws are exactly uniform. There are 6.7 · 10²¹ boards of 9×9: the boxes on
the diagonal, which share no group, are filled at random, a randomised search (:mod:`.search`) finds the rest, and a
random symmetry of the rule (digits relabelled, rows and columns permuted within and across bands, the board transposed)
is applied. Every board has a positive probability, and boards that a symmetry maps onto each other have the same one,
but the law over all boards is **not exactly uniform**: the search finds some classes more easily than others.

**Images.** Boards are valid ones drawn at random; every cell shows an image of its digit. Training and test images are
disjoint. Images of a digit are used in a random order, each once before any is used again. So they recur; a validation
part has images of its own.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from ...data.checks import check_room
from ...data.digits import Digits, Source, load_digits
from ...data.examples import Examples, Split
from ...data.images import resize
from ...errors import DataError, SpaceError
from ...registry import Registry
from ..of_digits import with_own_images
from .rule import box_side, boxes
from .search import solutions

Codes = npt.NDArray[np.int64]
LARGEST_LISTED = 4  # the largest size whose boards are listed
BOARDS: Registry[Callable[[int, int, np.random.Generator], Codes]] = Registry("boards")
"""Which boards to show, by name: size, how many, and a generator give their codes ``[boards, S²]``."""
BYTES_PER_CELL = 16  # beside its image: its code and its image's place
LARGEST_DIGIT = 9  # with images


def all_boards(size: int = 4) -> Codes:
    """Every valid board as codes 0 … S−1, ``[boards, S²]``, in lexicographic order.

    >>> len(all_boards(4))
    288
    """
    if size > LARGEST_LISTED:
        raise SpaceError(f"Boards of size {size} are too many to list; only those of size 4 are. Draw random ones.")
    return np.array(sorted(solutions(size, [-1] * size**2)), dtype=np.int64)


@BOARDS.register("all")
def random_boards(size: int, count: int, rng: np.random.Generator) -> Codes:
    """``count`` random valid boards as codes: uniform for 4×4, else a random search and a random symmetry."""
    if size <= LARGEST_LISTED:
        listed = all_boards(size)
        return listed[rng.integers(0, len(listed), count)]
    diagonal = boxes(size)[:: box_side(size) + 1]
    found: list[Codes] = []
    while len(found) < count:
        clues = np.full(size**2, -1)
        clues[np.array(diagonal)] = rng.permuted(np.tile(np.arange(size), (len(diagonal), 1)), axis=1)
        if (board := next(solutions(size, clues.tolist(), rng), None)) is not None:
            found.append(_shuffle(np.array(board), size, rng))
    return np.array(found, dtype=np.int64).reshape(count, size**2)


def _shuffle(board: Codes, size: int, rng: np.random.Generator) -> Codes:
    """The board under a random symmetry of the rule."""
    n = box_side(size)
    grid = rng.permutation(size)[board].reshape(size, size)
    for _ in range(2):  # bands permuted, and the rows inside each; then the same for columns
        grid = grid[np.concatenate([n * band + rng.permutation(n) for band in rng.permutation(n)])].T
    return (grid.T if rng.integers(2) else grid).reshape(-1)


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
        raise DataError.of({"image_size": image_size}, "give 4 to 1,024 pixels, or leave it out.")
    if size > LARGEST_DIGIT:
        raise DataError(f"Boards of size {size} need digits up to {size}; there are images of 1 … {LARGEST_DIGIT}.")
    for name, count in (("train_size", train_size), ("test_size", test_size)):
        if count < 1:
            raise DataError.of({name: count}, "give a positive number of boards.")
    train, test, note = load_digits(source, data_dir)
    first, second = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    area = train.images[0].size if image_size is None else image_size**2
    check_room("boards", train_size + test_size, size**2 * (train.images[0].size + area + BYTES_PER_CELL))
    drawn = partial(_boards, size=size, which=which, image_size=image_size)
    boards = drawn(train, train_size, first), drawn(test, test_size, second)
    apart = with_own_images(train, train_size, drawn)
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


def draw_images(pool: Digits, codes: Codes, rng: np.random.Generator) -> Codes:
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
