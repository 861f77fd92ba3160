"""Puzzles as images: boards with blank cells, read by a network that was trained on complete boards.

A cell is **blank** where its image has no ink: its brightest and its darkest pixel differ by less than a quarter of the
range of brightness. The network reads all others, and the puzzle is completed by search. A puzzle has exactly one
solution; where the digits read have none, or several, they are corrected: the most probable digits that have exactly
one are taken (:mod:`.search`).

A network that has learnt from boards without labels has its own names for the digits, which it uses for all puzzles
alike. So a puzzle counts as **solved** if its completed board is the true one under the one renaming that agrees best
over all puzzles; with ``--anchors 1`` names are known, and ``puzzle_accuracy`` counts without any renaming.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ...data.digits import Digits
from ...data.images import Images, border, fit, read_grey
from ...errors import DataError
from ...files import Json
from ...metrics import best_relabelling, share
from .boards import Codes, draw_images, random_boards
from .search import each_most_probable, peers_of, solutions

INK = 64  # levels of brightness, of 255
FEWEST = {4: 4, 9: 17}  # givens that a puzzle with one solution has, by the board's size
GIVENS = {4: 6, 9: 30}  # of puzzles for tests
TRIMMED = 10  # a tenth of a cell on each side, where a picture of a board may show lines


@dataclass(frozen=True, eq=False)
class Puzzles:
    """Images ``x[puzzles, S², 1, h, w]`` of puzzles, and the boards that solve them."""

    x: Tensor
    boards: Tensor

    @classmethod
    def of(cls, pool: Digits, size: int, count: int, givens: int, rng: np.random.Generator) -> "Puzzles":
        """Puzzles of random boards with this many givens, or more if a board allows no fewer."""
        if not FEWEST[size] <= givens <= size**2:
            raise DataError.of({"givens": givens}, f"a puzzle of {size}×{size} has {FEWEST[size]} to {size**2} givens.")
        if count < 1:
            raise DataError.of({"count": count}, "give a positive number of puzzles.")
        boards = random_boards(size, count, rng)
        images = pool.images[draw_images(pool, boards, rng)]
        images[np.stack([dug(board, givens, rng) for board in boards]) < 0] = 0
        return cls(torch.from_numpy(images)[:, :, None], torch.from_numpy(boards))


def dug(board: Codes, givens: int, rng: np.random.Generator) -> Codes:
    """The board's digits, −1 where one was taken away: in a random order, as long as no other board has the rest."""
    clues, size = board.tolist(), int(board.max()) + 1
    left = len(clues)
    for cell in rng.permutation(len(clues)).tolist():
        if left == givens:
            break
        true, seen = clues[cell], {clues[peer] for peer in peers_of(size)[cell]}
        others = [digit for digit in range(size) if digit != true and digit not in seen]
        if all(next(solutions(size, [*clues[:cell], d, *clues[cell + 1 :]]), None) is None for d in others):
            clues[cell] = -1
            left -= 1
    return np.array(clues)


def inked(x: Tensor) -> Tensor:
    """Which cells ``x[puzzles, S², 1, h, w]`` show something: ``[puzzles, S²]``."""
    pixels = x.flatten(2).long()
    return pixels.amax(2) - pixels.amin(2) >= INK


def solved(scores: Tensor, shown: Tensor) -> list[tuple[list[int], list[int]] | None]:
    """The corrected givens of each puzzle, −1 where blank, and its board; None if no board was found.

    ``scores[puzzles, S², S]`` are log-probabilities, and ``shown[puzzles, S²]`` says which cells are not blank.
    """
    cells = [row.nonzero().flatten().tolist() for row in shown]
    return list(each_most_probable(scores.shape[2], scores.cpu(), cells))


def puzzle_figures(puzzles: Puzzles, scores: Tensor) -> Json:
    """How many puzzles are solved, with corrections and without; see above for the names."""
    shown = inked(puzzles.x)
    read, found = scores.argmax(2).cpu().masked_fill(~shown, -1), solved(scores, shown)
    fine = torch.tensor([one is not None for one in found])
    board = torch.tensor([one[1] if one else [0] * puzzles.boards.shape[1] for one in found])
    kept = fine & torch.tensor(
        [one is not None and one[0] == row for one, row in zip(found, read.tolist(), strict=True)]
    )
    names = torch.arange(scores.shape[2])
    names = best_relabelling(board[fine], puzzles.boards[fine], len(names)) if bool(fine.any()) else names
    right = fine & (names[board] == puzzles.boards).all(1)

    return {
        "puzzles": len(found),
        "givens": shown.sum(1).double().mean().item(),
        "relabelled_puzzle_accuracy": share(right),
        "uncorrected_relabelled_puzzle_accuracy": share(right & kept),
        "puzzle_accuracy": share(fine & (board == puzzles.boards).all(1)),
        "corrected": share(fine & ~kept),
        "given_up": share(~fine),
    }


def read_puzzles(paths: Sequence[Path], size: int, image: tuple[int, int, int]) -> Tensor:
    """Pictures of whole puzzles, cut into cells of equal size: bytes ``[pictures, S², 1, height, width]``, ink bright.

    A tenth of a cell is trimmed on each side, so that thin lines between cells do not count as ink.
    """
    _, height, width = image
    cells: list[Images] = []
    for path in paths:
        picture = read_grey(path)
        if min(picture.shape) < 4 * size:
            raise DataError(
                f"{path} is {picture.shape[1]}×{picture.shape[0]} pixels; that cannot be cut into {size}×{size} cells."
            )
        if np.median(picture) > 127:  # most of a picture is background: ink is to be bright
            picture = 255 - picture
        for row in np.array_split(picture, size):
            for cell in np.array_split(row, size, axis=1):
                down, across = cell.shape[0] // TRIMMED, cell.shape[1] // TRIMMED
                inner = cell[down : cell.shape[0] - down, across : cell.shape[1] - across]
                cells.append(fit(inner, height, width, round(float(np.median(border(inner))))))
    return torch.from_numpy(np.stack(cells)).view(len(paths), size**2, 1, height, width)
