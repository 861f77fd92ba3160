r"""The inverse seam: given Π(z) = u and y, which completions exist?

An inverse returns the **fibre**

.. math:: F(u) = \{ v : (u, v) \in S_y \},

every completion v of the dropped sites up to a cap, with a flag that says whether that is all of them.
A complete fibre is a set, the same whoever found it; a single completion would depend on the solver's
mood, and a kernel that accepts a solver's favourite does not sample Q*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from ..spaces.categorical import Block, CategoricalBelief


@dataclass(frozen=True, eq=False)
class Fibre:
    """Completions of the dropped sites for a batch of projected states.

    Attributes
    ----------
    values
        ``[batch, options, dropped]`` candidate completions, in lexicographic order.
    mask
        ``[batch, options]`` which candidates belong to the fibre.
    complete
        ``[batch]`` whether the fibre is known to be whole. False where a solver gave up ('unknown') or the
        cap was reached: exact kernels then reject the move and count it.
    """

    values: Tensor
    mask: Tensor
    complete: Tensor

    @property
    def count(self) -> Tensor:
        """|F(u)|, the completions found."""
        return self.mask.sum(-1)

    def split(self, rows: int) -> tuple[Fibre, Fibre]:
        """The first ``rows`` examples, and the rest."""
        first = Fibre(self.values[:rows], self.mask[:rows], self.complete[:rows])
        return first, Fibre(self.values[rows:], self.mask[rows:], self.complete[rows:])


@dataclass(frozen=True, eq=False)
class Solutions:
    """All of S_y for a batch of answers, as ragged rows of state indices.

    Example b owns ``index[offsets[b] : offsets[b + 1]]``; ``owner`` repeats b over its row.
    """

    index: Tensor
    owner: Tensor
    offsets: Tensor

    @property
    def count(self) -> Tensor:
        """|S_y| per example."""
        return self.offsets.diff()


@dataclass(frozen=True, eq=False)
class PaddedSolutions:
    """All of S_y for a batch of answers, as rows of one length: ``index[batch, longest]``, of which ``mask`` counts."""

    index: Tensor
    mask: Tensor


@dataclass(frozen=True, eq=False)
class Start:
    """Initial feasible states: ``z[batch, sites]``, found or not, and whether 'not' is proved."""

    z: Tensor
    found: Tensor
    proved: Tensor


class Inverse(Protocol):
    """Computes fibres, and the first feasible state of each chain."""

    @property
    def solver_seconds(self) -> float:
        """Seconds spent so far in an external solver; 0 for tensor code."""

    def fibre(self, z: Tensor, y: Tensor, dropped: Tensor) -> Fibre:
        """F(Π(z)) for each row: ``z[batch, sites]`` (dropped entries are ignored), ``dropped[batch, d]`` sites."""

    def start(self, y: Tensor, seed: int) -> Start:
        """A feasible state for each answer, without any label."""


@runtime_checkable
class SolvingInverse(Inverse, Protocol):
    """An inverse that can also list all of S_y."""

    def solutions(self, y: Tensor) -> Solutions:
        """S_y for each answer."""


@runtime_checkable
class CheckingInverse(Protocol):
    """An inverse that decides z ∈ S_y faster than the rule itself."""

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y."""


@runtime_checkable
class SummingInverse(Protocol):
    """An inverse that adds up P(z|x) over S_y without listing it."""

    def log_partition(self, belief: Any, y: Tensor) -> Tensor:
        """log Σ P(z|x) over S_y, differentiable: ``[batch]``; −∞ for an empty S_y."""


@runtime_checkable
class MaximisingInverse(Protocol):
    """An inverse that finds the most probable feasible z without trying states one after the other."""

    def most_probable(self, belief: Any, y: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest z ∈ S_y of each example, and whether there is one."""


@runtime_checkable
class FallibleInverse(Protocol):
    """An inverse whose solver may fail, and that counts how often it did."""

    @property
    def faults(self) -> dict[str, int]:
        """Counts so far, by name."""


def solver_faults(inverse: Inverse) -> dict[str, int]:
    """What went wrong in an inverse so far, for the records of a run: only what did."""
    faults = inverse.faults if isinstance(inverse, FallibleInverse) else {}
    return {f"solver_{name}": count for name, count in faults.items() if count}


def likeliest(solutions: Solutions, belief: CategoricalBelief) -> tuple[Tensor, Tensor]:
    """The most probable of each example's solutions, and whether it has any; ties go to the smallest state."""
    blocks = belief.blocks()
    scores = log_weights(blocks, [b.position(solutions.owner, solutions.index) for b in blocks])
    found = solutions.count > 0
    peak = torch.full(found.shape, -torch.inf, device=scores.device, dtype=scores.dtype)
    peak = peak.scatter_reduce(0, solutions.owner, scores, "amax")
    last = len(scores)
    place = torch.arange(last, device=scores.device).masked_fill(scores < peak[solutions.owner], last)
    first = torch.full_like(solutions.count, last).scatter_reduce(0, solutions.owner, place, "amin")
    z = torch.zeros(len(found), belief.space.sites, dtype=torch.long, device=scores.device)
    z[found] = belief.space.states(solutions.index[first[found]])
    return z, found


def log_weights(blocks: list[Block], places: list[Tensor]) -> Tensor:
    """log w(z) of every solution, one look-up per block."""
    total = blocks[0].scores.flatten()[places[0]]
    for block, place in zip(blocks[1:], places[1:], strict=True):
        total = total + block.scores.flatten()[place]
    return total


def complete(z: Tensor, dropped: Tensor, values: Tensor) -> Tensor:
    """z with its dropped sites set to ``values``: the state (u, v)."""
    return z.scatter(-1, dropped, values)


def candidates(sizes: Tensor, dropped: Tensor, options: int) -> tuple[Tensor, Tensor]:
    """All codes of the dropped sites, in lexicographic order: values ``[batch, options, d]`` and which are real.

    ``sizes`` are the alphabet sizes of all sites. Examples may drop different sites, so each row counts in
    its own mixed radix, and rows with fewer than ``options`` combinations are masked.
    """
    radix = sizes[dropped]  # [batch, d]
    later = radix.flip(-1).cumprod(-1).flip(-1)  # product of this radix and those after it
    counter = torch.arange(options, device=dropped.device)[None, :, None]
    strides = later // radix
    values = counter // strides[:, None, :] % radix[:, None, :]
    return values, counter[..., 0] < later[:, :1]
