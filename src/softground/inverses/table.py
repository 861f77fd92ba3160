r"""The inverse by a table of the whole space, made once.

Every state's answer is computed up front, as an id. A fibre is then **one gather**: a state's index is a
mixed-radix number, so the completions of u sit at known places of the table, and those with id y are F(u).
Sorted by answer, the same table lists S_y without any search, which is what the exact kernel reads.

Length-7 formulas have 419,904 states: the table takes 5 MB and a fraction of a second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..constraints.program import NO_ANSWER, Program, Recorded
from ..errors import InverseError
from ..projections.base import Dropped
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from .base import INVERSES, RECORD_ANSWERS, RECORDED, Fibre, Inverse, Record, Start, candidates
from .enumeration import Enumeration, default_inverse
from .law import Law, Padded, Parts, Ragged, Solutions, ragged

BYTES_PER_STATE = 4 + 8  # the answer's id, and the state's index in the list sorted by answer
CHUNK_STATES = 2**18  # evaluated at a time
FOLDS_KEPT = 16  # fixed drop sets whose folded table is kept; one of length-7 formulas takes 1.7 MB
# A plain Python rule takes some ten microseconds per state, a vectorised one a few nanoseconds.
TABULATE_PLAIN = 2_000_000
TABULATE_VECTORISED = 20_000_000
RECORD_STATES = 2**24  # the most states that a saved model keeps: 64 MB
PADDED_LIMIT = 2**26  # entries of padded rows beyond which ragged ones are used after all: 268 MB of floats
PADDED_CHEAP = 2**12  # entries of padded rows that cost less than the bookkeeping of ragged ones
PART_ROWS = 512  # examples whose ragged rows are worked on together: those of length-7 formulas stay in a CPU's cache


@dataclass(frozen=True, eq=False)
class Columns:
    """The table on one device."""

    answer: Tensor  # [states] int32 id of each state's answer, −1 for none
    by_answer: Tensor  # [states with an answer] state indices sorted by answer, then by index
    offsets: Tensor  # [answers + 1] where each answer's states begin in by_answer


@dataclass(frozen=True, eq=False)
class Folded:
    """The table for one drop set: one row per u, one column per completion."""

    answer: Tensor  # [kept states, options]
    strides: Tensor  # [n] mixed-radix weight of each kept site in the row's number, 0 for dropped ones
    values: Tensor  # [1, options, dropped] the completions


@RECORDED.register("table")
class Table(Inverse):
    """Fibres and solutions from a table of the space, of ``limit`` bytes at most.

    >>> space = Categorical([range(10), range(10)])
    >>> table = Table(Program(lambda a, b: a + b, space))
    >>> table
    Table(100 states, 19 answers, 1.2 kB)
    """

    static = True
    exact = True

    def __init__(self, program: Program, *, limit: int = 2**30, _padded: bool | None = None) -> None:
        self.program = self.constraint = program
        self._padded = _padded  # by default padded on a GPU, and where rows are short; the law is the same
        self.space: Categorical = program.space
        size = self.bytes_needed(self.space)
        if size > limit:
            raise InverseError(
                f"A table of this space would hold {self.space.size:,} states and take {_human(size)}; the limit is "
                f"{_human(limit)}. Use the enumeration or the Z3 inverse, or raise the limit."
            )
        chunks = torch.split(torch.arange(self.space.size), CHUNK_STATES)
        answer = torch.cat([program.answer_ids(self.space.states(chunk), remember=False).int() for chunk in chunks])
        order = torch.sort(answer, stable=True)
        none = int((answer == NO_ANSWER).sum())
        count = torch.bincount(order.values[none:].long()) if none < len(answer) else torch.zeros(0, dtype=torch.long)
        offsets = torch.nn.functional.pad(count.cumsum(0), (1, 0))
        self._columns = {torch.device("cpu"): Columns(answer, order.indices[none:], offsets)}
        self._answers = int((count > 0).sum())
        self._folded: dict[tuple[torch.device, tuple[int, ...]], Folded] = {}
        self.longest = int(count.max()) if len(count) else 0  # the most states that any answer has
        self._solvable: tuple[int, bool] = (-1, False)

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

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        whole = torch.ones(len(z), dtype=torch.bool, device=z.device)
        if dropped.key is not None:  # all rows drop the same sites: F(u) is one row of the table folded for them
            folded = self._fold(dropped.key, z.device)
            mask = folded.answer.index_select(0, (z * folded.strides).sum(-1)) == y[:, None]
            return Fibre(folded.values.expand(len(z), -1, -1), mask, whole)
        layout, sites = self.space.layout(z.device), dropped.sites
        values, mask = candidates(layout.sizes, sites, self.space.combinations(dropped.count))
        base = (z.scatter(-1, sites, 0) * layout.strides).sum(-1)
        index = base[:, None] + (values * layout.strides[sites][:, None]).sum(-1)
        # Masked candidates count past their radix and so repeat real states: inside the table, never used.
        mask = mask & (self.columns(z.device).answer[index] == y[:, None])
        return Fibre(values, mask, whole)

    def _fold(self, dropped: tuple[int, ...], device: torch.device) -> Folded:
        """The table with the dropped sites last, made once for each of the last few sets."""
        key = (device, dropped)
        if key not in self._folded:
            sizes, sites = self.space.sizes, range(self.space.sites)
            kept = [site for site in sites if site not in dropped]
            options = math.prod(sizes[site] for site in dropped)
            answer = self.columns(device).answer.view(sizes).permute(*kept, *dropped).reshape(-1, options)
            strides = [math.prod(sizes[k] for k in kept if k > site) if site in kept else 0 for site in sites]
            given = torch.tensor([dropped], device=device)
            values, _ = candidates(self.space.layout(device).sizes, given, options)
            while len(self._folded) >= FOLDS_KEPT:
                del self._folded[next(iter(self._folded))]
            self._folded[key] = Folded(answer, torch.tensor(strides, device=device), values)
        return self._folded[key]

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y: one look-up."""
        return self.answer_ids(z) == y

    def solutions(self, y: Tensor) -> Solutions:
        """S_y for each answer: ragged rows cut out of the list sorted by answer."""
        first, count = self._rows(y)
        owner, offsets = ragged(count)
        place = torch.arange(len(owner), device=y.device) + (first - offsets[:-1])[owner]
        return Solutions(self.columns(y.device).by_answer[place], owner, offsets)

    def _rows(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Where each answer's states begin in the sorted list, and how many there are."""
        offsets = self.columns(y.device).offsets
        known = y < len(offsets) - 1
        safe = torch.where(known, y, 0)
        first = offsets[safe]
        return first, torch.where(known, offsets[(safe + 1).clamp(max=len(offsets) - 1)] - first, 0)

    def law(self, target: Target[CategoricalBelief]) -> Law:
        weights, y = target.weights, target.answers
        if self.static_law(target):
            columns = self.columns(y.device)
            first, place = columns.offsets[y], torch.arange(self.longest, device=y.device)
            mask = place < (columns.offsets[y + 1] - first)[:, None]
            return Padded(columns.by_answer[torch.where(mask, first[:, None] + place, 0)], mask, weights)
        if len(y) <= PART_ROWS:
            return Ragged(self.solutions(y), weights)
        parts = [slice(first, first + PART_ROWS) for first in range(0, len(y), PART_ROWS)]
        return Parts(lambda: (Ragged(self.solutions(y[part]), weights.rows(part), part.start) for part in parts))

    def static_law(self, target: Target[CategoricalBelief]) -> bool:
        """Padded rows do no device-to-host synchronisation; they need every answer to have a state."""
        y, size = target.answers, len(target.answers) * self.longest
        wanted = (y.is_cuda or size <= PADDED_CHEAP) if self._padded is None else self._padded
        return wanted and self.solvable and size <= PADDED_LIMIT

    @property
    def solvable(self) -> bool:
        """Whether every answer that the program has seen has a state; asked again only when it has seen more."""
        known = self.program.known
        if self._solvable[0] != known:
            offsets = self._columns[torch.device("cpu")].offsets
            self._solvable = (known, known < len(offsets) and bool((offsets.diff()[:known] > 0).all()))
        return self._solvable[1]

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        first, count = self._rows(y)  # not solutions(y): a million answers have a hundred million states
        found = count > 0
        generator = torch.Generator().manual_seed(seed)
        uniform = torch.rand(len(y), generator=generator, dtype=torch.float64, device="cpu").to(y.device)
        place = first + (uniform * count).long()
        z = torch.zeros(len(y), self.space.sites, dtype=torch.long, device=y.device)
        z[found] = self.space.states(self.columns(y.device).by_answer[place[found]])
        return Start(z, found, torch.ones_like(found))

    def answer_ids(self, z: Tensor) -> Tensor:
        """The id of each state's answer; −1 where it has none."""
        return self.columns(z.device).answer[self.space.index(z)]

    def record(self) -> Record | None:
        rule, answer = self.program, self.columns(torch.device("cpu")).answer
        if self.space.size > RECORD_STATES or rule.known > RECORD_ANSWERS:
            return None
        facts = {"kind": "table", "width": rule.width if rule.vectorised else 0, "form": rule.form}
        if rule.vectorised:
            keys = torch.tensor(rule.answers.keys, dtype=torch.long).reshape(-1, rule.width)
            return facts, {"answer": answer, "keys": keys}
        return facts | {"keys": list(rule.answers.keys)}, {"answer": answer}

    @classmethod
    def rebuild(cls, space: Categorical, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Table:
        answer, width = tensors["answer"], int(facts["width"])
        keys = [tuple(row) for row in tensors["keys"].tolist()] if width else facts["keys"]
        if answer.shape != (space.size,) or int(answer.min()) < NO_ANSWER or int(answer.max()) >= len(keys):
            raise ValueError("its table does not fit the symbols")
        rule = Recorded(space, lambda z: answer[space.index(z)], keys, width, facts["form"])
        table = cls(rule, limit=cls.bytes_needed(space))
        rule.ids = table.answer_ids  # which has copies on every device
        return table


def _human(size: float) -> str:
    units = ["TB", "GB", "MB", "kB", "B"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop()
    return f"{size:.3g} {units[-1]}"


@default_inverse.register
def _(constraint: Program, space: Categorical) -> Inverse:
    limit = TABULATE_VECTORISED if constraint.vectorised else TABULATE_PLAIN
    return Table(constraint) if space.size <= limit else Enumeration(space, constraint)


@INVERSES.register("table")
def _by_name(rule: Program, **settings: Any) -> Inverse:
    return Table(rule)
