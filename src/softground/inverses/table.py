r"""The inverse by a table of the whole space, made once.

Every state's answer is computed up front, as an id. A fibre is then **one gather**: a state's index is a
mixed-radix number, so the completions of u sit at known places of the table, and those with id y are F(u).
Sorted by answer, the same table lists S_y without any search, which is what the exact kernel reads.

Length-7 formulas have 419,904 states: the table takes 5 MB and a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..constraints.program import NO_ANSWER, Program
from ..errors import InverseError
from ..spaces.categorical import Categorical
from .base import Fibre, Solutions, Start, candidates

BYTES_PER_STATE = 4 + 8  # the answer's id, and the state's index in the list sorted by answer
CHUNK = 2**18


@dataclass(frozen=True, eq=False)
class Columns:
    """The table on one device."""

    answer: Tensor  # [states] int32 id of each state's answer, −1 for none
    by_answer: Tensor  # [states with an answer] state indices sorted by answer, then by index
    offsets: Tensor  # [answers + 1] where each answer's states begin in by_answer


class Table:
    """Fibres and solutions from a precomputed table of the space.

    Parameters
    ----------
    program
        The rule; every state of its space is evaluated once.
    limit
        Largest table in bytes; a larger one raises :class:`~softground.errors.InverseError` before any work.

    >>> space = Categorical([range(10), range(10)])
    >>> table = Table(Program(lambda a, b: a + b, space))
    >>> table
    Table(100 states, 19 answers, 1.2 kB)
    """

    solver_seconds = 0.0

    def __init__(self, program: Program, *, limit: int = 2**30) -> None:
        self.program = program
        self.space: Categorical = program.space
        size = self.bytes_needed(self.space)
        if size > limit:
            raise InverseError(
                f"A table of this space would hold {self.space.size:,} states and take {_human(size)}; the limit is "
                f"{_human(limit)}. Use the enumeration or the Z3 inverse, or raise the limit."
            )
        chunks = torch.split(torch.arange(self.space.size), CHUNK)
        answer = torch.cat([program.answer_ids(self.space.states(chunk)).int() for chunk in chunks])
        order = torch.sort(answer, stable=True)
        none = int((answer == NO_ANSWER).sum())
        count = torch.bincount(order.values[none:].long()) if none < len(answer) else torch.zeros(0, dtype=torch.long)
        offsets = torch.nn.functional.pad(count.cumsum(0), (1, 0))
        self._columns = {torch.device("cpu"): Columns(answer, order.indices[none:], offsets)}
        self._answers = int((count > 0).sum())

    @staticmethod
    def bytes_needed(space: Categorical) -> int:
        """How large the table of a space would be."""
        return space.size * BYTES_PER_STATE

    def __repr__(self) -> str:
        return f"Table({self.space.size:,} states, {self._answers:,} answers, {_human(self.bytes_needed(self.space))})"

    def columns(self, device: torch.device) -> Columns:
        """The table on ``device``, copied once."""
        if device not in self._columns:
            c = self._columns[torch.device("cpu")]
            self._columns[device] = Columns(c.answer.to(device), c.by_answer.to(device), c.offsets.to(device))
        return self._columns[device]

    def fibre(self, z: Tensor, y: Tensor, dropped: Tensor) -> Fibre:
        layout = self.space.layout(z.device)
        values, mask = candidates(layout.sizes, dropped, self.space.combinations(dropped.shape[1]))
        base = (z.scatter(-1, dropped, 0) * layout.strides).sum(-1)
        index = base[:, None] + (values * layout.strides[dropped][:, None]).sum(-1)
        # Masked candidates count past their radix and so repeat real states: inside the table, never used.
        mask = mask & (self.columns(z.device).answer[index] == y[:, None])
        return Fibre(values, mask, torch.ones(len(z), dtype=torch.bool, device=z.device))

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y: one look-up."""
        return self.columns(z.device).answer[self.space.index(z)] == y

    def solutions(self, y: Tensor) -> Solutions:
        """S_y for each answer: ragged rows cut out of the list sorted by answer."""
        columns = self.columns(y.device)
        known = y < len(columns.offsets) - 1
        safe = torch.where(known, y, 0)
        first = columns.offsets[safe]
        count = torch.where(known, columns.offsets[(safe + 1).clamp(max=len(columns.offsets) - 1)] - first, 0)
        offsets = torch.nn.functional.pad(count.cumsum(0), (1, 0))
        owner = torch.arange(len(y), device=y.device).repeat_interleave(count)
        place = torch.arange(len(owner), device=y.device) + (first - offsets[:-1])[owner]
        return Solutions(columns.by_answer[place], owner, offsets)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        solutions = self.solutions(y)
        found = solutions.count > 0
        generator = torch.Generator().manual_seed(seed)
        uniform = torch.rand(len(y), generator=generator, dtype=torch.float64).to(y.device)
        place = solutions.offsets[:-1] + (uniform * solutions.count).long()
        index = solutions.index[place[found]]
        z = torch.zeros(len(y), self.space.sites, dtype=torch.long, device=y.device)
        z[found] = self.space.states(index)
        return Start(z, found, torch.ones_like(found))


def _human(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.3g} {unit}"
        size /= 1000
    raise AssertionError
