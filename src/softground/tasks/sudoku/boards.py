"""Valid boards: all of them for 4×4, random ones for larger boards.

The 288 boards of 4×4 are listed, so that draws are exactly uniform. There are 6.7 · 10²¹ boards of 9×9; a randomised
search finds one, and a random symmetry of the rule (digits relabelled, rows and columns permuted within and across
bands, the board transposed) is applied to it. Every board has a positive probability, and boards that a symmetry maps
onto each other have the same one, but the law over all boards is **not exactly uniform**: the search finds some classes
more easily than others.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from ...errors import SpaceError
from .rule import box_side, groups

Boards = npt.NDArray[np.int64]
LARGEST_LISTED = 4  # the largest size whose boards are listed
SEARCHES = 100  # for one board, each with a limit of its own; an empty board hardly ever needs a second


def all_boards(size: int = 4) -> Boards:
    """Every valid board as codes 0 … S−1, ``[boards, S²]``, in lexicographic order.

    >>> len(all_boards(4))
    288
    """
    if size > LARGEST_LISTED:
        raise SpaceError(f"Boards of size {size} are too many to list; only those of size 4 are. Draw random ones.")
    boards = np.empty((1, 0), dtype=np.int64)
    for cell, peers in enumerate(_peers(size)):  # cell by cell, every digit that no earlier peer has
        earlier = [peer for peer in peers if peer < cell]
        parent, digit = (boards[:, earlier, None] != np.arange(size)).all(1).nonzero()
        boards = np.column_stack([boards[parent], digit])
    return boards


def random_boards(size: int, count: int, rng: np.random.Generator) -> Boards:
    """``count`` random valid boards as codes: uniform for 4×4, else a random search and a random symmetry."""
    if size <= LARGEST_LISTED:
        listed = all_boards(size)
        return listed[rng.integers(0, len(listed), count)]
    found = [_shuffle(np.array(completed(size, [-1] * size**2, rng)[0]), size, rng) for _ in range(count)]
    return np.array(found, dtype=np.int64).reshape(count, size**2)


@cache
def _peers(size: int) -> list[list[int]]:
    """The cells that share a group with each cell."""
    return [sorted({p for group in groups(size) if cell in group for p in group} - {cell}) for cell in range(size**2)]


def completed(size: int, clues: list[int], rng: np.random.Generator) -> tuple[list[int] | None, bool]:
    """A random board with these digits, −1 where a cell is empty; and whether it is sure that there is one, or none."""
    peers = _peers(size)
    if any(digit >= 0 and clues[p] == digit for cell, digit in enumerate(clues) for p in peers[cell]):
        return None, True
    for _ in range(SEARCHES):
        board, ended = _search(size, peers, rng, clues)
        if ended:
            return board, True
    return None, False


def _search(
    size: int, peers: list[list[int]], rng: np.random.Generator, clues: list[int] | None = None
) -> tuple[list[int] | None, bool]:
    """Fill a board: always a cell with fewest digits left, a random digit, backtracking where stuck.

    Gives the board, if there is one, and whether the search came to its end; one that takes too long does not.
    """
    board, left, budget = list(clues or [-1] * size**2), [(1 << size) - 1] * size**2, 50 * size**2
    for cell, shown in enumerate(board):
        for p in peers[cell] if shown >= 0 else []:
            left[p] &= ~(1 << shown)

    def fill() -> bool:
        nonlocal budget
        budget -= 1
        empty = [cell for cell, digit in enumerate(board) if digit < 0]
        if not empty:
            return True
        cell = min(empty, key=lambda c: left[c].bit_count())
        options = [d for d in range(size) if left[cell] >> d & 1]
        for place in rng.permutation(len(options)).tolist():
            digit, bit = options[place], 1 << options[place]
            touched = [p for p in peers[cell] if board[p] < 0 and left[p] & bit]
            board[cell] = digit
            for p in touched:
                left[p] &= ~bit
            if budget > 0 and all(left[p] for p in touched) and fill():
                return True
            for p in touched:
                left[p] |= bit
        board[cell] = -1
        return False

    return (board, True) if fill() else (None, budget > 0)


def _shuffle(board: Boards, size: int, rng: np.random.Generator) -> Boards:
    """The board under a random symmetry of the rule."""
    n = box_side(size)
    grid = rng.permutation(size)[board].reshape(size, size)
    for _ in range(2):  # bands permuted, and the rows inside each; then the same for columns
        grid = grid[np.concatenate([n * band + rng.permutation(n) for band in rng.permutation(n)])].T
    return (grid.T if rng.integers(2) else grid).reshape(-1)
