"""The boards of the paper's authors: those that the generator in their code can reach.

It starts from one cyclic 4×4 board and shuffles it 8 to 15 times. One shuffle switches two digits, then two rows of one
band, then two columns of one stack, and leaves the board transposed. As these always come together, no more than 48 of
the 288 boards arise: four of the twelve patterns (boards up to the names of digits), each under twelve of the 24 ways
to name its digits. Over these 48 the generator's law is uniform up to 1.3 · 10⁻⁴ of each probability.

Reference: https://github.com/SoftWiser-group/Soften-NeSy-learning, SudoKu4x4/SudokuMaster.py.
"""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from softground.errors import DataError
from softground.tasks.sudoku.boards import BOARDS, Codes

SIZE = 4
FIRST = (0, 1, 2, 3, 2, 3, 0, 1, 1, 2, 3, 0, 3, 0, 1, 2)
SWITCHED = ([1, 0, 2, 3], [0, 1, 3, 2])  # the rows of a 4×4 board with the two of one band switched


def authors_boards() -> Codes:
    """Every board that the authors' generator reaches, as codes, in lexicographic order.

    >>> len(authors_boards())
    48
    """
    found: set[tuple[int, ...]] = set()
    new = {FIRST}
    while new:
        found |= new
        new = {tuple(shuffled.tolist()) for board in new for shuffled in _shuffles(board)} - found
    return np.array(sorted(found), dtype=np.int64)


@BOARDS.register("authors")
def _drawn(size: int, count: int, rng: np.random.Generator) -> Codes:
    if size != SIZE:
        raise DataError.of({"size": size}, f"the authors' boards have size {SIZE}. Draw from all boards.")
    return rng.choice(authors_boards(), count)


def _shuffles(board: tuple[int, ...]) -> Iterator[Codes]:
    """What one shuffle can make of a board."""
    for one, other in combinations(range(SIZE), 2):
        names = np.arange(SIZE)
        names[[one, other]] = other, one
        grid = names[list(board)].reshape(SIZE, SIZE)
        for rows, columns in product(SWITCHED, repeat=2):
            yield grid[rows].T[columns].reshape(-1)
