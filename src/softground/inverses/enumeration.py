"""The inverse by enumeration: try every combination of the dropped sites, as one batched tensor operation."""

import time
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..constraints.program import Program
from ..errors import InverseError
from ..preparing import preparing, time_left
from ..projections.base import Dropped
from ..spaces.categorical import Categorical
from .base import INVERSES, Fibre, Inverse, Start, candidates, complete, pinned
from .codes import ByAnswer
from .sets import Listed

CHUNK_STATES = 2**20  # evaluated at a time; of 7 int64 sites they are 59 MB
QUICK = 0.2  # seconds after which a piece of work does not grow further, so that progress stays visible


class Enumeration(Inverse):
    """Fibres by trying every completion; exact for any constraint, on any device.

    ``cap`` is the largest number of combinations of the dropped sites, and ``tries`` how many random projections
    :meth:`start` tries per example when the space is too large to list.
    """

    def __init__(self, space: Categorical, constraint: Constraint, *, cap: int = 100_000, tries: int = 2_000) -> None:
        self.space: Categorical = space
        self.constraint, self.cap, self.tries = constraint, cap, tries

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.space!r})"

    def options(self, dropped: int) -> int:
        """The most combinations that ``dropped`` sites of this space can have."""
        options = self.space.combinations(dropped)
        if options > self.cap:
            raise InverseError(
                f"Dropping {dropped} sites gives up to {options:,} combinations to try; the cap is {self.cap:,}. "
                "Drop fewer sites, raise the cap, or use the Z3 inverse."
            )
        return options

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        options = self.options(dropped.count)
        values, mask = candidates(self.space.layout(z.device).sizes, dropped.sites, options)
        wide = (len(z), options, -1)
        states = z[:, None].expand(wide).scatter(-1, dropped.sites[:, None].expand(wide), values)
        answers = y[:, None].expand(len(z), options, *y.shape[1:])
        parts = zip(*(torch.split(part.flatten(0, 1), CHUNK_STATES) for part in (states, answers)), strict=True)
        feasible = [self.constraint.feasible(*part) for part in parts]
        mask = mask & torch.cat(feasible).view(len(z), options)
        return Fibre(values, mask, torch.ones(len(z), dtype=torch.bool, device=z.device))

    def start(self, y: Tensor, seed: int) -> Start:
        """Draw kept sites at random and complete them, until every example has a state or the tries run out.

        If the whole space is within the cap, it is listed instead, so 'not found' is a proof.
        """
        return self.start_pinned(y, seed, torch.full((len(y), self.space.sites), -1, device=y.device))

    def start_pinned(self, y: Tensor, seed: int, known: Tensor) -> Start:
        """:meth:`start` with known sites fixed; −1 means unknown."""
        space, generator = self.space, torch.Generator().manual_seed(seed)
        whole = space.size <= self.cap
        block = list(range(space.sites)) if whole else self._largest_block()
        options, sites = self.options(len(block)), torch.tensor(block, dtype=torch.long, device=y.device)
        z = torch.zeros(len(y), space.sites, dtype=torch.long, device=y.device)
        found = torch.zeros(len(y), dtype=torch.bool, device=y.device)
        with preparing("First states", len(y)) as done:
            for _ in range(1 if whole else self.tries):
                rest = (~found).nonzero().squeeze(1)
                if not len(rest):
                    break
                # All chance comes first: how many rows are tried together, which is a matter of time, decides nothing.
                uniform = torch.rand(len(rest), space.sites + 1, generator=generator, dtype=torch.float64, device="cpu")
                uniform = uniform.to(y.device)
                draw = (uniform[:, :-1] * space.layout(y.device).sizes).long()
                draw = torch.where(known[rest] < 0, draw, known[rest])
                for rows in _paced(len(rest), max(1, CHUNK_STATES // options), y.device):
                    dropped = Dropped(sites.expand(len(rows), -1), shared=True)
                    fibre = self.fibre(draw[rows], y[rest[rows]], dropped)
                    fixed = known[rest[rows]][:, None, sites]
                    mask = fibre.mask & ((fixed < 0) | (fixed == fibre.values)).all(-1)
                    order = (uniform[rows, -1:] * mask.sum(-1, keepdim=True)).long()
                    pick = (mask.cumsum(-1) > order).to(torch.uint8).argmax(-1)
                    value = fibre.values[torch.arange(len(rows), device=y.device), pick]
                    hit = mask.any(-1)
                    state = complete(draw[rows], dropped, value)
                    z[rest[rows[hit]]] = state[hit]
                    found[rest[rows[hit]]] = True
                    done(int(found.sum()))
                    if time_left() <= 0:
                        return Start(z, found, torch.zeros_like(found))
        return Start(z, found, torch.full_like(found, whole))

    def _largest_block(self) -> list[int]:
        """As many sites as fit a moderate number of combinations: a larger block finds a state sooner.

        A plain function is called for each combination, so its block is smaller.
        """
        plain = isinstance(self.constraint, Program) and not self.constraint.vectorised
        block: list[int] = []
        for site in reversed(range(self.space.sites)):
            if self.space.combinations(len(block) + 1) > min(self.cap, 1_000 if plain else 10_000):
                break
            block.append(site)
        return block or [self.space.sites - 1]

    def set(self, y: Tensor) -> Listed:
        """S_y by listing the space; see :class:`~softground.inverses.table.Table` for many answers."""
        everything = Dropped(torch.arange(self.space.sites, device=y.device)[None])
        zeros = torch.zeros(1, self.space.sites, dtype=torch.long, device=y.device)
        rows = [self.fibre(zeros, y[b : b + 1], everything) for b in range(len(y))]
        return listed([self.space.index(f.values[0][f.mask[0]]) for f in rows], self.space, y.device)


pinned.register(Enumeration, Enumeration.start_pinned)


def listed(rows: Sequence[Tensor], space: Categorical, device: torch.device) -> Listed:
    """The S_y of a batch, by the indices of its states."""
    found = ByAnswer.of(rows, space.sizes, device)
    return Listed(found.rows(torch.arange(len(rows), device=device)), found.codes, found.sizes)


def _paced(count: int, most: int, device: torch.device) -> Iterator[Tensor]:
    """The numbers below ``count`` in blocks: one first, then twice as many while blocks are quick, up to ``most``."""
    first, together = 0, 1
    while first < count:
        began = time.perf_counter()
        yield torch.arange(first, min(first + together, count), device=device)
        first += together
        if time.perf_counter() - began < QUICK:
            together = min(2 * together, most)


@singledispatch
def default_inverse(constraint: Any, space: Any) -> Inverse:
    """The default inverse of a rule; each inverse's file registers the rules that it serves best.

    Enumeration of the dropped sites serves any rule on symbols.
    """
    return Enumeration(space, constraint)


@INVERSES.register("auto")
def _auto(rule: Any, **settings: Any) -> Inverse:
    return default_inverse(rule, rule.space)


@INVERSES.register("enumeration")
def _by_name(rule: Any, **settings: Any) -> Inverse:
    return Enumeration(rule.space, rule)
