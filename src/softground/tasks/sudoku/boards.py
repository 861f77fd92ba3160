"""Valid boards: all of them for 4×4, random ones for larger boards.

The 288 boards of 4×4 are listed, so that draws are exactly uniform. There are 6.7 · 10²¹ boards of 9×9: the boxes on
the diagonal, which share no group, are filled at random, a randomised search (:mod:`.search`) finds the rest, and a
random symmetry of the rule (digits relabelled, rows and columns permuted within and across bands, the board transposed)
is applied. Every board has a positive probability, and boards that a symmetry maps onto each other have the same one,
but the law over all boards is **not exactly uniform**: the search finds some classes more easily than others.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...errors import SpaceError
from ...registry import Registry
from .rule import box_side, boxes
from .search import solutions

Boards = npt.NDArray[np.int64]
LARGEST_LISTED = 4  # the largest size whose boards are listed
BOARDS: Registry[Callable[[int, int, np.random.Generator], Boards]] = Registry("boards")
"""Which boards to show, by name: size, how many, and a generator give their codes ``[boards, S²]``."""


def all_boards(size: int = 4) -> Boards:
    """Every valid board as codes 0 … S−1, ``[boards, S²]``, in lexicographic order.

    >>> len(all_boards(4))
    288
    """
    if size > LARGEST_LISTED:
        raise SpaceError(f"Boards of size {size} are too many to list; only those of size 4 are. Draw random ones.")
    return np.array(sorted(solutions(size, [-1] * size**2)), dtype=np.int64)


@BOARDS.register("all")
def random_boards(size: int, count: int, rng: np.random.Generator) -> Boards:
    """``count`` random valid boards as codes: uniform for 4×4, else a random search and a random symmetry."""
    if size <= LARGEST_LISTED:
        listed = all_boards(size)
        return listed[rng.integers(0, len(listed), count)]
    diagonal = boxes(size)[:: box_side(size) + 1]
    found: list[Boards] = []
    while len(found) < count:
        clues = np.full(size**2, -1)
        clues[np.array(diagonal)] = rng.permuted(np.tile(np.arange(size), (len(diagonal), 1)), axis=1)
        if (board := next(solutions(size, clues.tolist(), rng), None)) is not None:
            found.append(_shuffle(np.array(board), size, rng))
    return np.array(found, dtype=np.int64).reshape(count, size**2)


def _shuffle(board: Boards, size: int, rng: np.random.Generator) -> Boards:
    """The board under a random symmetry of the rule."""
    n = box_side(size)
    grid = rng.permutation(size)[board].reshape(size, size)
    for _ in range(2):  # bands permuted, and the rows inside each; then the same for columns
        grid = grid[np.concatenate([n * band + rng.permutation(n) for band in rng.permutation(n)])].T
    return (grid.T if rng.integers(2) else grid).reshape(-1)
