"""The inverse for boards too many to list: first boards, completions and the most probable board, by search."""

from itertools import islice

import numpy as np
import torch
from torch import Tensor

from ...errors import InverseError
from ...inverses.base import Fibre, Inverse, Start
from ...projections.base import Dropped
from ...spaces.categorical import CategoricalBelief
from ...target import Target
from .boards import random_boards
from .rule import sudoku_program
from .search import each_most_probable, solutions


class Completion(Inverse):
    """Valid boards of any size, without a table. A fibre with more than ``cap`` completions is cut and incomplete.

    >>> Completion(9)
    Completion(9×9 boards)
    """

    has_mode = True

    def __init__(self, size: int, *, cap: int = 64) -> None:
        self.size, self.cap = size, cap
        self.constraint = sudoku_program(size)
        self.space = self.constraint.space

    def __repr__(self) -> str:
        return f"Completion({self.size}×{self.size} boards)"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        clues = torch.where(dropped.kept(z.shape[1]), z, -1).tolist()
        found = [list(islice(solutions(self.size, row), self.cap + 1)) for row in clues]
        count = torch.tensor([min(len(boards), self.cap) for boards in found], device=z.device)
        values = torch.zeros(len(z), max(1, *count.tolist()), dropped.count, dtype=torch.long, device=z.device)
        for row, boards in enumerate(found):
            cells = torch.tensor(sorted(boards[: self.cap]), dtype=torch.long, device=z.device).view(-1, z.shape[1])
            values[row, : len(cells)] = cells[:, dropped.sites[row]]
        complete = torch.tensor([len(boards) <= self.cap for boards in found], device=z.device)
        mask = torch.arange(values.shape[1], device=z.device) < count[:, None]
        return Fibre(values, mask, complete)

    def start(self, y: Tensor, seed: int) -> Start:
        """A random valid board for each example (see :mod:`.boards`); no label is looked at."""
        if bool((y < 0).any()):
            raise InverseError(
                "Boards that are not valid, or about which nothing is known, were given; this inverse completes valid "
                "boards. Use a listing (boards of 4×4) or the Z3 inverse."
            )
        boards = random_boards(self.size, len(y), np.random.default_rng(seed))
        true = torch.ones(len(y), dtype=torch.bool, device=y.device)
        return Start(torch.from_numpy(boards).to(y.device), true, true)

    def pinned(self, y: Tensor, seed: int, known: Tensor) -> Start:
        """A random valid board with the known digits for each example, by search."""
        rng = np.random.default_rng(seed)
        boards = [next(solutions(self.size, row, rng), None) for row in known.tolist()]
        z = torch.tensor([board or [0] * self.size**2 for board in boards], device=y.device)
        found = torch.tensor([board is not None for board in boards], device=y.device)
        return Start(z, found, torch.ones_like(found))

    def most_probable(self, target: Target[CategoricalBelief]) -> Tensor | None:
        """By best-first search (:mod:`.search`); where that gave up, the network's own reading."""
        if bool((target.answers < 0).any()):  # not valid, or nothing is known
            return None
        best = target.weights.mode()
        wrong = (~self.feasible(best, target.answers)).nonzero().flatten()
        every = [range(self.size**2)] * len(wrong)
        searched = each_most_probable(self.size, target.weights.scores[wrong], every)
        for row, found in zip(wrong.tolist(), searched, strict=True):
            if found is not None:
                best[row] = torch.tensor(found[1], device=best.device)
        return best
