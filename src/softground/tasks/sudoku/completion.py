"""The inverse for boards too many to list: all completions of the dropped cells, by batched search.

Partial boards of the whole batch grow together. At each level each of them picks its empty cell with the fewest digits
left and branches into one board per digit; a board with a cell that no digit fits dies out. After as many levels as
cells were dropped, the fibres are left. All of it is tensor code, on any device.
"""

import numpy as np
import torch
from torch import Tensor

from ...errors import InverseError
from ...inverses.base import Fibre, Inverse, Start
from ...projections.base import Dropped
from ...spaces.categorical import CategoricalBelief
from ...target import Target
from .boards import random_boards
from .rule import group_cells, sudoku_program
from .search import each_most_probable, solutions


class Completion(Inverse):
    """Fibres of the Sudoku rule for any board size, without a table.

    ``cap`` is the most partial boards per example at any level. Where there are more, the fibre is marked incomplete.
    With ``partial`` such an example goes on with the first ``cap``, so that some completions are found, which is all
    that the paper's kernel needs. Otherwise it is given up; exact kernels could not use the rest anyway.

    >>> Completion(9)
    Completion(9×9 boards, at most 1,024 at a time)
    """

    def __init__(self, size: int, *, cap: int = 1024, partial: bool = False) -> None:
        self.size, self.cap, self.partial, self.has_mode = size, cap, partial, True
        self.constraint = sudoku_program(size)
        self.space = self.constraint.space
        of = group_cells(size, torch.device("cpu"))
        # The groups of each cell, and the number of ones in each set of digits.
        self._of_cell = torch.stack([(of == cell).any(1).nonzero()[:, 0] for cell in range(size**2)])
        self._ones = torch.tensor([bits.bit_count() for bits in range(2**size)])

    def __repr__(self) -> str:
        return f"Completion({self.size}×{self.size} boards, at most {self.cap:,} at a time)"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        boards, owner, cut = self.grow(z, dropped)
        values = boards.gather(1, dropped.sites[owner])
        order = torch.arange(len(values), device=z.device)
        for key in (*values.flip(1).unbind(1), owner):
            order = order[key[order].argsort(stable=True)]
        values, owner = values[order], owner[order]
        count = torch.bincount(owner, minlength=len(z))
        place = torch.arange(len(owner), device=z.device) - (count.cumsum(0) - count)[owner]
        options = max(1, int(count.max())) if len(count) else 1
        packed = torch.zeros(len(z), options, dropped.count, dtype=torch.long, device=z.device)
        packed[owner, place] = values
        mask = torch.arange(options, device=z.device) < count[:, None]
        return Fibre(packed, mask, ~cut)

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

    def grow(self, z: Tensor, dropped: Dropped) -> tuple[Tensor, Tensor, Tensor]:
        """All valid boards that agree with z at the kept cells, the example of each, and which examples were cut."""
        device, batch, full = z.device, len(z), 2**self.size - 1
        ones, of_cell = self._ones.to(device), self._of_cell.to(device)
        digits = torch.arange(self.size, device=device)
        shown = torch.where(dropped.kept(z.shape[1]), 1 << z, 0)[:, group_cells(self.size, device)]
        used = shown.sum(-1)  # the digits of each group, as bits; right where none is repeated
        alive = (used <= full).all(-1) & (ones[used.clamp(max=full)] == (shown > 0).sum(-1)).all(-1)
        owner = alive.nonzero()[:, 0]
        boards, used, cells = z[owner], used[owner], dropped.sites[owner]
        empty = torch.ones_like(cells, dtype=torch.bool)
        cut = torch.zeros(batch, dtype=torch.bool, device=device)
        for _ in range(dropped.count):
            seen = used[:, None].expand(-1, cells.shape[1], -1).gather(2, of_cell[cells])
            left = full & ~(seen[..., 0] | seen[..., 1] | seen[..., 2])
            which = ones[left].masked_fill(~empty, self.size + 1).argmin(1, keepdim=True)
            parent, digit = (left.gather(1, which) >> digits & 1).nonzero(as_tuple=True)
            # Rows of one example stay together, so a row's place among its example's is a difference.
            count = torch.bincount(owner[parent], minlength=batch)
            place = torch.arange(len(parent), device=device) - (count.cumsum(0) - count)[owner[parent]]
            cut |= count > self.cap
            go_on = place < self.cap if self.partial else ~cut[owner[parent]]
            parent, digit = parent[go_on], digit[go_on]
            owner, cells, which = owner[parent], cells[parent], which[parent]
            cell = cells.gather(1, which)
            boards = boards[parent].scatter(1, cell, digit[:, None])
            touched = of_cell[cell[:, 0]]
            used = used[parent].scatter_add(1, touched, (1 << digit)[:, None].expand_as(touched))
            empty = empty[parent].scatter(1, which, False)
        return boards, owner, cut
