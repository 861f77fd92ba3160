"""Valid boards: all of them for 4×4, random ones for larger boards.

The 288 boards of 4×4 are listed by backtracking, so that draws are exactly uniform. There are 6.7 · 10²¹ boards of
9×9; a randomised search finds one, and a random symmetry of the rule (digits relabelled, rows and columns permuted
within and across bands, the board transposed) is applied to it. Every board has a positive probability, and boards
that a symmetry carries into each other have the same one, but the law over all boards is **not exactly uniform**:
classes that the search runs into more easily come up more often.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ...errors import SpaceError
from .rule import box_side, groups

Boards = npt.NDArray[np.int64]
LISTED = 4  # the largest size whose boards are listed


def all_boards(size: int = 4) -> Boards:
    """Every valid board as codes 0 … S−1, ``[boards, S²]``, in lexicographic order.

    >>> len(all_boards(4))
    288
    """
    if size > LISTED:
        raise SpaceError(f"Boards of size {size} are too many to list; only those of size 4 are. Draw random ones.")
    peers = _peers(size)
    board = [-1] * size**2

    def extend(cell: int) -> Iterator[list[int]]:
        if cell == len(board):
            yield board.copy()
            return
        for digit in range(size):
            if all(board[p] != digit for p in peers[cell]):
                board[cell] = digit
                yield from extend(cell + 1)
        board[cell] = -1

    return np.array(list(extend(0)), dtype=np.int64)


def random_boards(size: int, count: int, rng: np.random.Generator) -> Boards:
    """``count`` random valid boards as codes: uniform for 4×4, else a random search and a random symmetry."""
    if size <= LISTED:
        listed = all_boards(size)
        return listed[rng.integers(0, len(listed), count)]
    peers = _peers(size)
    found = [_shuffle(np.array(_search(size, peers, rng)), size, rng) for _ in range(count)]
    return np.array(found, dtype=np.int64).reshape(count, size**2)


def _peers(size: int) -> list[list[int]]:
    """The cells that share a group with each cell."""
    sets: list[set[int]] = [set() for _ in range(size**2)]
    for group in groups(size):
        for cell in group:
            sets[cell] |= set(group) - {cell}
    return [sorted(s) for s in sets]


def _search(size: int, peers: list[list[int]], rng: np.random.Generator) -> list[int]:
    """Fill an empty board: always a cell with fewest digits left, a random digit, backtracking where stuck."""
    while True:
        board, left = [-1] * size**2, [(1 << size) - 1] * size**2
        if _fill(board, left, peers, rng, budget=[50 * size**2]):
            return board


def _fill(
    board: list[int], left: list[int], peers: list[list[int]], rng: np.random.Generator, budget: list[int]
) -> bool:
    budget[0] -= 1
    empty = [cell for cell, digit in enumerate(board) if digit < 0]
    if not empty:
        return True
    cell = min(empty, key=lambda c: left[c].bit_count())
    options = [d for d in range(left[cell].bit_length()) if left[cell] >> d & 1]
    for place in rng.permutation(len(options)).tolist():
        digit, bit = options[place], 1 << options[place]
        touched = [p for p in peers[cell] if board[p] < 0 and left[p] & bit]
        board[cell] = digit
        for p in touched:
            left[p] &= ~bit
        if budget[0] > 0 and all(left[p] for p in touched) and _fill(board, left, peers, rng, budget):
            return True
        for p in touched:
            left[p] |= bit
    board[cell] = -1
    return False


def _shuffle(board: Boards, size: int, rng: np.random.Generator) -> Boards:
    """A random one of the symmetries of the rule."""
    grid = rng.permutation(size)[board].reshape(size, size)
    grid = grid[_lines(size, rng)][:, _lines(size, rng)]
    return (grid.T if rng.integers(2) else grid).reshape(-1)


def _lines(size: int, rng: np.random.Generator) -> Boards:
    """Bands permuted, and the lines inside each."""
    n = box_side(size)
    return np.concatenate([n * band + rng.permutation(n) for band in rng.permutation(n)])
