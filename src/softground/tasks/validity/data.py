"""Valid boards and others that are not, shown by images of digits.

*Validity* (Soft-PNet). Valid boards are uniform over the 288. An invalid one is valid but for one cell, which shows the
digit of another cell of its row, its column or its box; the kind, the group and the two cells are uniform.

*ViSudo-PC* (strategy *simple*). A valid board is filled row by row at random among the digits allowed, and begun again
at a dead end. Every valid board has a corrupted copy: a coin decides between exchanging two cells and replacing one by
another digit, once, and again with probability 1/2, at most ten times (eight exchanges), no cell twice, all of it
until the copy is invalid. MNIST's two parts are pooled; training, test and validation boards take disjoint images, and
valid boards each image once where they suffice. A corrupted copy has the valid board's images where its digits are.

References: Soft-PNet, arXiv 2609.12247; E. Augustine et al., Visual sudoku puzzle classification, NeSy 2022.
"""

from collections.abc import Sequence

import numpy as np
import torch

from ...constraints.relations import Not
from ...data.examples import Examples
from ...data.idx import Digits
from ..sudoku.boards import Boards, random_boards
from ..sudoku.data import draw_images
from ..sudoku.rule import groups

SIZE, CELLS = 4, 16
MOST, MOST_EXCHANGES = 10, CELLS // 2
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


def filled_boards(count: int, corrupted: bool, pool: Digits, rng: Chance) -> Examples:
    """So many valid boards and, after them, their corrupted copies."""
    valid = np.array([filled(rng) for _ in range(count)])
    images = draw_images(pool, valid, rng)
    if not corrupted:
        return examples(valid, images, [True] * count, pool)
    copies = [corrupt(board, shown, pool, rng) for board, shown in zip(valid, images, strict=True)]
    codes, shown = np.concatenate([np.stack([valid, images], 1), np.array(copies)]).swapaxes(0, 1)
    return examples(codes, shown, [True] * count + [False] * count, pool)


def filled(rng: Chance) -> Boards:
    """A valid board, filled cell by cell."""
    peers = [sorted({p for group in groups(SIZE) if cell in group for p in group}) for cell in range(CELLS)]
    while True:
        board = np.full(CELLS, -1)
        for cell in range(CELLS):
            allowed = sorted(set(range(SIZE)) - set(board[peers[cell]].tolist()))
            if not allowed:
                break
            board[cell] = rng.choice(allowed)
        else:
            return board


def corrupt(board: Boards, images: Boards, pool: Digits, rng: Chance) -> tuple[Boards, Boards]:
    """A copy that is invalid, and the images of its cells."""
    while True:
        copy, shown, free = board.copy(), images.copy(), rng.permutation(CELLS).tolist()
        exchange, turns = bool(rng.integers(2)), 0
        while turns < (MOST_EXCHANGES if exchange else MOST) and (not turns or rng.integers(2)):
            cell, turns = free.pop(), turns + 1
            if exchange:
                pair = [cell, free.pop()]
                copy[pair], shown[pair] = copy[pair[::-1]], shown[pair[::-1]]
            else:
                copy[cell] = (copy[cell] + rng.integers(1, SIZE)) % SIZE
                shown[cell] = rng.choice(np.flatnonzero(pool.labels == copy[cell] + 1))
        if not valid(copy):
            return copy, shown


def valid(board: Boards) -> bool:
    """Whether every group of a board has each digit."""
    return all(len(set(board[group].tolist())) == SIZE for group in groups(SIZE))


def examples(codes: Boards, images: Boards, fine: Sequence[bool], pool: Digits) -> Examples:
    """Boards in images of their digits; the answer of an invalid one is ``Not(True)``."""
    x = torch.from_numpy(pool.images[images][:, :, None])
    return Examples(x, [True if each else Not(True) for each in fine], torch.from_numpy(codes))


def blocks(pool: Digits, parts: int, rng: Chance) -> list[Digits]:
    """Images of 0 … 3 dealt out to disjoint parts, class by class, under the labels 1 … 4 of a board's digits."""
    dealt: list[list[Boards]] = [[] for _ in range(parts)]
    for digit in range(SIZE):
        places = rng.permutation(np.flatnonzero(pool.labels == digit))
        for own, part in zip(dealt, np.array_split(places, parts), strict=True):
            own.append(part)
    index = [np.concatenate(own) for own in dealt]
    return [Digits(pool.images[own], pool.labels[own] + 1) for own in index]
