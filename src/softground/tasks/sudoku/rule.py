r"""The rule of Sudoku for boards of any size S = n²: every row, column and n×n box shows each of 1 … S once.

It is stated once, as the list of :func:`groups`, and read as a vectorised predicate and as a Z3 formula. A cell is a
site, counted row by row from 0. A valid board's answer is ``True``; a board that breaks the rule has no answer.

A group of S cells holds all S digits exactly when :math:`\sum_c 2^{z_c} = 2^{S+1} - 2`: S powers of two add up to S
ones in binary in one way only.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ...constraints.base import Part
from ...constraints.pieces import All, AllDifferent
from ...constraints.program import Program
from ...constraints.smt import SMT, load_z3
from ...errors import SpaceError
from ...spaces.categorical import Categorical


def box_side(size: int) -> int:
    """n for boards of n² × n²."""
    side = math.isqrt(size) if size > 0 else 0
    if side < 2 or side * side != size:
        raise SpaceError(f"A board of size {size} was asked for; expected a square number from 4 on: 4, 9, 16, …")
    return side


def boxes(size: int) -> list[list[int]]:
    """The cells of each n×n box (sub-board), boxes row by row.

    >>> boxes(4)
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    n = box_side(size)
    corners = [(r, c) for r in range(0, size, n) for c in range(0, size, n)]
    return [[(r + i) * size + c + j for i in range(n) for j in range(n)] for r, c in corners]


def groups(size: int) -> list[list[int]]:
    """The cells of each row, column and box: the rule itself."""
    rows = [[r * size + c for c in range(size)] for r in range(size)]
    return rows + [list(column) for column in zip(*rows, strict=True)] + boxes(size)


@cache
def group_cells(size: int, device: torch.device) -> Tensor:
    """:func:`groups` as a tensor ``[3S, S]``, made once per device."""
    return torch.tensor(groups(size), device=device)


def sudoku_space(size: int = 4) -> Categorical:
    """Digits 1 … S at each of S² cells."""
    box_side(size)
    return Categorical([range(1, size + 1)] * size**2)


def valid(*cells: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each board of a batch keeps the rule (twice: the answer, and whether there is one)."""
    size = math.isqrt(len(cells))
    bits = torch.ones_like(cells[0])[:, None] << torch.stack(cells, -1)
    sums = bits[:, group_cells(size, bits.device)].sum(-1)
    fine = (sums == 2 ** (size + 1) - 2).all(-1)
    return fine, fine


class Boards(Program):
    """The rule as a vectorised program, which is also the conjunction of its groups: each shows all digits."""

    def __init__(self, size: int) -> None:
        super().__init__(valid, sudoku_space(size), vectorised=True, partial=True)
        self.size = size
        self.encode([True])  # the answer of every example, whose id is 0

    def sole(self) -> Tensor:
        return torch.zeros(1, dtype=torch.long)

    def parts(self) -> list[Part]:
        every = All([AllDifferent(group) for group in groups(self.size)], self.space).parts()
        # That a board is not valid, or that nothing is known of it, says nothing of any one group.
        valid, vague = every[0].rule.encode([True, None]).tolist()

        def answers(y: Tensor) -> Tensor:
            return torch.where(y < 0, vague, valid)

        return [Part(part.sites, part.rule, answers) for part in every]


def sudoku_program(size: int = 4) -> Boards:
    """The rule as a vectorised constraint; the answer of every example is ``True``, whose id is 0."""
    return Boards(size)


def sudoku_rule(z: Sequence[Any], y: Any) -> Any:
    """The rule as a Z3 formula over cells that are Z3 Int expressions, numerals or Python ints.

    Known cells are compared here: the solver only gets inequalities that involve unknown cells, each once. Returns a
    Python bool where every cell is known.
    """
    z3 = load_z3()
    cells = [e.as_long() if isinstance(e, z3.IntNumRef) else e for e in z]
    parts: dict[tuple[int, int], Any] = {}
    for group in groups(math.isqrt(len(cells))):
        known = {cells[i]: i for i in group if isinstance(cells[i], int)}
        unknown = [i for i in group if not isinstance(cells[i], int)]
        if len(known) + len(unknown) < len(group):
            return False
        parts |= {(i, -digit): cells[i] != digit for i in unknown for digit in known}
        parts |= {(i, j): cells[i] != cells[j] for i in unknown for j in unknown if i < j}
    return bool(y) and (z3.And(*parts.values()) if parts else True)


def sudoku_smt(size: int = 4, space: Categorical | None = None) -> SMT:
    """The rule as a constraint for :class:`~softground.inverses.z3.Z3`; the answer ``True`` has id 0 here too."""
    program = sudoku_program(size)
    return SMT(sudoku_rule, space or program.space, answers=program)
