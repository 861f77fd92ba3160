"""Valid boards and others that are not, shown by images of digits.

Valid boards are uniform over the 288. An invalid one is valid but for one cell, which shows the digit of another cell
of its row, its column or its box; the kind, the group and the two cells are uniform.

Reference: Soft-PNet, arXiv 2609.12247.
"""

from collections.abc import Sequence

import numpy as np
import torch

from ...constraints.answers import Not
from ...data.digits import Digits
from ...data.examples import Examples
from ..sudoku.boards import Boards, random_boards
from ..sudoku.data import draw_images
from ..sudoku.rule import groups

SIZE, CELLS = 4, 16
Chance = np.random.Generator


def uniform_boards(count: int, invalid: int, pool: Digits, rng: Chance) -> Examples:
    """So many boards, the first ``invalid`` of them invalid, then mixed."""
    codes = random_boards(SIZE, count, rng)
    for board in codes[:invalid]:
        kind = int(rng.integers(3))
        group = groups(SIZE)[SIZE * kind + int(rng.integers(SIZE))]
        cell, other = rng.choice(group, 2, replace=False)
        board[cell] = board[other]
    order = rng.permutation(count)
    return examples(codes[order], draw_images(pool, codes[order], rng), (order >= invalid).tolist(), pool)


def examples(codes: Boards, images: Boards, fine: Sequence[bool], pool: Digits) -> Examples:
    """Boards in images of their digits; the answer of an invalid one is ``Not(True)``."""
    x = torch.from_numpy(pool.images[images][:, :, None])
    return Examples(x, [True if each else Not(True) for each in fine], torch.from_numpy(codes))
