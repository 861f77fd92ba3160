r"""The inverse by a table of the whole space, made once.

Every state's answer is computed up front, as an id. A fibre is then **one gather**: a state's index is a mixed-radix
number, so the completions of u sit at known places of the table, and those with id y are F(u). The same table, sorted
by answer, lists S_y for the exact kernel.

Length-7 formulas have 419,904 states: the table takes 3.4 MB and a fraction of a second.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..constraints.program import NO_ANSWER, Program
from ..errors import InverseError
from ..preparing import human, preparing
from ..projections.base import Dropped
from ..spaces.categorical import Categorical
from .base import INVERSES, Fibre, Inverse, Start, candidates, drawn
from .codes import ByAnswer, codes_of, entries
from .complements import Cubes, Stated
from .enumeration import Enumeration, default_inverse
from .sets import Listed, Sets, where

CHUNK_STATES = 2**18  # evaluated at a time
FOLDS_KEPT = 16  # folded tables to keep; one of length-7 formulas takes 1.7 MB
# A plain Python rule takes some ten microseconds per state, a vectorised one a few nanoseconds.
TABULATE_PLAIN = 2_000_000
TABULATE_VECTORISED = 20_000_000
TABULATE_SECONDS = 60.0
SAMPLE, SAMPLE_VECTORISED = 256, 2**16  # states to time a rule by
PADDED_LIMIT = 2**26  # entries above which rows are ragged, not padded: 268 MB of floats
PADDED_CHEAP = 2**12  # entries of padded rows that cost less than the bookkeeping of ragged ones


@dataclass(frozen=True, eq=False)
class Columns:
    """The table on one device."""

    answer: Tensor  # [states] int32 id of each state's answer, −1 for none
    # States without an answer come first. Copies of state 0 at the end let a window of the longest answer fit anywhere.
    states: ByAnswer

    @classmethod
    def of(cls, answer: Tensor, known: int, sizes: tuple[int, ...]) -> Columns:
        """Sort the states by answer; ``known`` is the number of ids."""
        order = torch.sort(answer, stable=True)
        none = int((answer == NO_ANSWER).sum())
        count = torch.bincount(order.values[none:].long(), minlength=known)
        longest = int(count.max()) if len(count) else 0
        codes = codes_of(pad(order.indices, (0, longest)), sizes)
        return cls(answer, ByAnswer(codes, pad(count.cumsum(0), (1, 0)) + none, sizes))


@dataclass(frozen=True, eq=False)
class Folded:
    """The table for one drop set: one row per u, one column per completion."""

    answer: Tensor  # [kept states, options]
    strides: Tensor  # [n] mixed-radix weight of each kept site in the row's number, 0 for dropped ones
    values: Tensor  # [1, options, dropped] the completions

    @classmethod
    def of(cls, answer: Tensor, space: Categorical, dropped: tuple[int, ...]) -> Folded:
        """The table ``answer[states]`` with the dropped sites last."""
        sizes, sites, device = space.sizes, range(space.sites), answer.device
        kept = [site for site in sites if site not in dropped]
        options = math.prod(sizes[site] for site in dropped)
        strides = [math.prod(sizes[k] for k in kept if k > site) if site in kept else 0 for site in sites]
        values, _ = candidates(space.layout(device).sizes, torch.tensor([dropped], device=device), options)
        rows = answer.view(sizes).permute(*kept, *dropped).reshape(-1, options)
        return cls(rows, torch.tensor(strides, device=device), values)


class Table(Inverse):
    """Fibres and solutions from a table of the space, of ``limit`` bytes at most.

    >>> space = Categorical([range(10), range(10)])
    >>> table = Table(Program(lambda a, b: a + b, space))
    >>> table
    Table(100 states, 19 answers, 600 B)
    """

    exact = True

    def __init__(self, program: Program, *, limit: int = 2**30, _padded: bool | None = None) -> None:
        if not isinstance(program, Program):
            raise InverseError(
                f"{program!r} was given to Table; expected a Program, a function from symbols to an answer. For other "
                "rules leave out the inverse: Task(space, rule) lists or sums solutions if possible."
            )
        self.program = self.constraint = program
        self._padded = _padded  # by default on a GPU and for short rows; Q* is the same
        self.space: Categorical = program.space
        size = self.bytes_needed(self.space)
        if size > limit:
            raise InverseError(
                f"A table of this space would hold {self.space.size:,} states and take {human(size)}; the limit is "
                f"{human(limit)}. Use the enumeration or the Z3 inverse, or raise the limit."
            )
        parts = []
        with preparing("Table of the states", self.space.size) as done:
            for chunk in torch.split(torch.arange(self.space.size), CHUNK_STATES):
                parts.append(program.answer_ids(self.space.states(chunk), remember=False).int())
                done(int(chunk[-1]) + 1)
        program.check_steady()
        answer = torch.cat(parts)
        self._columns = {torch.device("cpu"): (columns := Columns.of(answer, program.known, self.space.sizes))}
        count = columns.states.offsets.diff()
        self._answers = int((count > 0).sum())
        self._folded: dict[tuple[torch.device, tuple[int, ...]], Folded] = {}
        self.longest = int(count.max()) if len(count) else 0  # the most states that any answer has
        self._solvable: tuple[int, bool] = (-1, False)
        self._relations: dict[tuple[int, torch.device], Tensor] = {}
        self._cubes = Cubes(self.space, self._stated)

    @staticmethod
    def bytes_needed(space: Categorical) -> int:
        """The size of the table of a space."""
        return space.size * (4 + codes_of(torch.zeros(1, dtype=torch.long), space.sizes).nbytes)  # and the answer's id

    def __repr__(self) -> str:
        return f"Table({self.space.size:,} states, {self._answers:,} answers, {human(self.bytes_needed(self.space))})"

    def columns(self, device: torch.device) -> Columns:
        """The table on ``device``, copied once."""
        if device not in self._columns:
            here = self._columns[torch.device("cpu")]
            self._columns[device] = Columns(here.answer.to(device), here.states.to(device))
        return self._columns[device]

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        whole = torch.ones(len(z), dtype=torch.bool, device=z.device)
        if dropped.key is not None:  # all rows drop the same sites: F(u) is one row of the table folded for them
            folded = self._fold(dropped.key, z.device)
            mask = self._explained(folded.answer.index_select(0, (z * folded.strides).sum(-1)), y)
            return Fibre(folded.values.expand(len(z), -1, -1), mask, whole)
        layout, sites = self.space.layout(z.device), dropped.sites
        values, mask = candidates(layout.sizes, sites, self.space.combinations(dropped.count))
        base = (z.scatter(-1, sites, 0) * layout.strides).sum(-1)
        index = base[:, None] + (values * layout.strides[sites][:, None]).sum(-1)
        # Masked candidates count past their radix and so repeat real states: inside the table, never used.
        mask = mask & self._explained(self.columns(z.device).answer[index], y)
        return Fibre(values, mask, whole)

    def _explained(self, answer: Tensor, y: Tensor) -> Tensor:
        """Whether states whose answers have the ids ``answer[batch, states]`` are feasible for ``y[batch]``."""
        if self.program.answers.inexact(y) is None:
            return answer == y[:, None]
        numbers, row = torch.unique(y, return_inverse=True)
        return torch.stack([self._admitted(i, y.device) for i in numbers.tolist()])[row[:, None], answer.long()]

    def _admitted(self, y: int, device: torch.device) -> Tensor:
        """Which answers of the table y admits, and at the end whether it admits no answer; computed once.

        The program may since have seen answers that no state of the table has.
        """
        if (y, device) not in self._relations:
            found, count = self.program.admitted(y), len(self._columns[torch.device("cpu")].states.offsets) - 1
            self._relations[y, device] = torch.cat([found[:count], found[-1:]]).to(device)
        return self._relations[y, device]

    def _fold(self, dropped: tuple[int, ...], device: torch.device) -> Folded:
        """The table with the dropped sites last, made once for each of the last few sets."""
        key = (device, dropped)
        if key not in self._folded:
            while len(self._folded) >= FOLDS_KEPT:
                del self._folded[next(iter(self._folded))]
            self._folded[key] = Folded.of(self.columns(device).answer, self.space, dropped)
        return self._folded[key]

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y: one look-up."""
        return self._explained(self.answer_ids(z)[:, None], y)[:, 0]

    def set(self, y: Tensor) -> Sets:
        answers = self.program.answers
        return self._listed(y) if answers.plain else where(y, answers.inexact(y), self._listed, self._cubes)

    def _listed(self, y: Tensor) -> Listed:
        states = self.columns(y.device).states
        size, filled = len(y) * self.longest, self.solvable
        padded = (y.is_cuda or size <= PADDED_CHEAP) if self._padded is None else self._padded
        longest = self.longest if padded and filled and size <= PADDED_LIMIT else 0
        return Listed(states.rows(y), states.codes, states.sizes, longest=longest, filled=filled)

    def _stated(self, y: Tensor) -> Stated:
        """The states of the admitted answers, or those of the complement if they are fewer."""
        states, answers = self.columns(y.device).states, self._admitted(int(y), y.device)
        offsets = states.offsets
        count = torch.cat([offsets.diff(), offsets[:1]])  # at the end, the states without an answer, which come first
        inside = 2 * int(count[answers].sum()) <= self.space.size
        answers = answers if inside else ~answers
        place, *_ = entries(torch.cat([offsets[:-1], 0 * offsets[:1]])[answers], count[answers])
        return states.index(place).sort().values, inside

    @property
    def solvable(self) -> bool:
        """Whether every exact answer that the program has seen has a state; recomputed when it has seen more."""
        known = len(self.program.answers.keys)
        if self._solvable[0] != known:
            offsets = self._columns[torch.device("cpu")].states.offsets
            self._solvable = (known, known < len(offsets) and bool((offsets.diff()[:known] > 0).all()))
        return self._solvable[1]

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        index, found = self.columns(y.device).states.drawn(y, seed)
        z = torch.zeros(len(y), self.space.sites, dtype=torch.long, device=y.device)
        z[found] = self.space.states(index)
        if (other := self.program.answers.inexact(y)) is not None:
            some = drawn(self, self.space.uniform(int(other.sum()), y.device), y[other], seed)
            z[other], found[other] = some.z, some.found
        return Start(z, found, torch.ones_like(found))

    def answer_ids(self, z: Tensor) -> Tensor:
        """The id of each state's answer, or −1 without an answer."""
        return self.columns(z.device).answer[self.space.index(z)]


def seconds_for(rule: Program) -> float:
    """Estimate the time to make a table, from a sample of states that takes about half a second."""
    size, spent, tried = rule.space.size, 0.0, 0
    sample = min(size, SAMPLE_VECTORISED if rule.vectorised else SAMPLE)
    states = rule.space.states(torch.randint(size, (sample,), generator=torch.Generator().manual_seed(0)))
    for part in torch.split(states, len(states) if rule.vectorised else 16):
        if spent < 0.5:
            began = time.perf_counter()
            rule.answer_ids(part, remember=False)
            spent, tried = spent + time.perf_counter() - began, tried + len(part)
    return spent / tried * size


@default_inverse.register
def _(constraint: Program, space: Categorical) -> Inverse:
    limit = TABULATE_VECTORISED if constraint.vectorised else TABULATE_PLAIN
    small = space.size <= limit and (constraint.vectorised or seconds_for(constraint) <= TABULATE_SECONDS)
    return Table(constraint) if small else Enumeration(space, constraint)


@INVERSES.register("table")
def _by_name(rule: Program, **settings: Any) -> Inverse:
    return Table(rule)
