r"""The inverse seam: given Π(z) = u and y, which completions exist?

An inverse returns the **fibre**

.. math:: F(u) = \{ v : (u, v) \in S_y \},

every completion v of the dropped sites up to a cap, with a flag that says whether that is all of them.
A complete fibre is a set, the same by any method; a single completion would depend on the solver's
choice, and a kernel that accepts a solver's favourite does not sample Q*.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from ..constraints.base import Constraint, outside_inference
from ..dice import Sampler, any_of
from ..errors import InverseError
from ..projections.base import Dropped
from ..registry import Registry
from ..spaces.belief import CategoricalBelief
from ..target import Target
from .sets import Law, Listed, Sets, Solutions, Stated, by_rows, codes_of, cubes

Record = tuple[dict[str, Any], dict[str, Tensor]]
RECORD_ANSWERS = 2**18  # the most answers that a record writes as text


@dataclass(frozen=True, eq=False)
class Fibre:
    """Completions of the dropped sites for a batch of projected states.

    A fibre is not complete where a solver gave up or the cap was reached: exact kernels then reject the move and count
    it.
    """

    values: Tensor  # [batch, options, dropped] candidate completions, in lexicographic order
    mask: Tensor  # [batch, options] which candidates belong to the fibre
    complete: Tensor  # [batch] whether the fibre is known to be whole

    @property
    def count(self) -> Tensor:
        """|F(u)|, the completions found."""
        return self.mask.sum(-1)

    def rows(self, index: slice) -> Fibre:
        """Some of the examples."""
        return Fibre(self.values[index], self.mask[index], self.complete[index])


@dataclass(frozen=True, eq=False)
class Start:
    """Initial feasible states: ``z[batch, sites]``, found or not, and whether 'not' is proved."""

    z: Tensor
    found: Tensor
    proved: Tensor


class Inverse(ABC):
    """Computes fibres, and the first feasible state of each chain. It declares what else it can do."""

    space: Any
    constraint: Constraint  # the rule; a listing needs none
    static: ClassVar[bool] = (
        False  # whether fibre() does no device-to-host synchronisation, so that a GPU can record it
    )
    exact: ClassVar[bool] = False  # whether law() gives Q* without a search
    cost: ClassVar[Literal["tensor", "solver"]] = "tensor"  # tensor code, or a solver that takes milliseconds per fibre
    solver_seconds: float = 0.0  # spent in a solver so far
    has_mode: bool = False  # whether most_probable() finds the mode, though the law is not known

    @abstractmethod
    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        """F(Π(z)) for each row of ``z[batch, sites]``, whose dropped entries are ignored."""

    @abstractmethod
    def start(self, y: Tensor, seed: int) -> Start:
        """A feasible state for each answer, without any label."""

    def start_given(self, y: Tensor, seed: int, known: Tensor) -> Start:
        """:meth:`start` in what known symbols leave of S_y: codes ``known[batch, sites]``, −1 where it is unknown."""
        z, found = known.clamp(min=0), torch.zeros(len(y), dtype=torch.bool, device=y.device)
        proved, pinned = found.clone(), (known >= 0).any(1)
        for rows in (pinned.nonzero().flatten(), (~pinned).nonzero().flatten()):
            if len(rows):
                some = self.pinned(y[rows], seed, known[rows]) if pinned[rows[0]] else self.start(y[rows], seed)
                z[rows], found[rows], proved[rows] = some.z, some.found, some.proved
        return Start(z, found, proved)

    def pinned(self, y: Tensor, seed: int, known: Tensor) -> Start:
        """:meth:`start_given` for rows that all have a known symbol.

        Where the law is known, a uniform draw from it. Otherwise one of the fibre over the known sites; an inverse that
        searches does better to search with the known sites fixed.
        """
        z, found = known.clamp(min=0), torch.zeros(len(y), dtype=torch.bool, device=y.device)
        proved, dice = ~found, Sampler(seed, y.device)
        if self.exact:
            return drawn(self, self.space.uniform(len(y), y.device).given(known), y, seed)
        free = (known < 0).sum(1)
        for count in sorted(set(free.tolist())):
            rows = (free == count).nonzero().flatten()
            if not count:
                found[rows] = self.feasible(z[rows], y[rows])
                continue
            dropped = Dropped((known[rows] < 0).nonzero()[:, 1].view(len(rows), count))
            fibre = self.fibre(z[rows], y[rows], dropped)
            option = any_of(dice, fibre.mask | (fibre.count == 0)[:, None])
            chosen = fibre.values[torch.arange(len(rows), device=y.device), option]
            z[rows], found[rows] = complete(z[rows], dropped, chosen), fibre.count > 0
            proved[rows] = fibre.complete
        return Start(z, found, proved)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y for each row."""
        return self.constraint.feasible(z, y)

    @property
    def faults(self) -> dict[str, int]:
        """How often a solver failed so far, by name."""
        return {}

    def solutions(self, y: Tensor) -> Solutions:
        """All of S_y for each answer, where that can be listed."""
        raise InverseError(
            f"{self!r} cannot list S_y, and so has no law. Tables, listings and scans have one; Z3, and enumeration of "
            "a small space, can list S_y."
        )

    def some_solutions(self, y: Tensor) -> list[tuple[Tensor, bool]]:
        """For each answer the sorted indices of states of S_y, and whether these are all of them.

        A solver that may stop in between overrides this; nothing that it has found is lost then.
        """
        found = self.solutions(y)
        each = zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
        return [(found.index[a:b].cpu(), True) for a, b in each]

    def lister(self, most: int, seconds: float, workers: int) -> Inverse:
        """The inverse to list at most ``most`` states of each S_y by, in so many seconds each, by so many processes."""
        return self

    def law(self, target: Target[Any]) -> Law:
        """Q* itself, for a batch."""
        if torch.is_inference_mode_enabled():  # some of what is made is kept
            with outside_inference():
                return self.law(target)
        y = target.answers
        if (mask := self.beside(y)) is None or not bool(mask.any()):
            return Law(self.set(y), target.weights)
        return Law(by_rows(y, [(~mask, self.set), (mask, self._in_cubes)]), target.weights)

    def set(self, y: Tensor) -> Sets:
        """S_y of each answer."""
        found = self.solutions(y)
        which, sizes = torch.stack([found.offsets[:-1], found.count], 1), self.space.sizes
        return Listed(which, codes_of(found.index, sizes), sizes)

    def beside(self, y: Tensor) -> Tensor | None:
        """Which answers :meth:`set` is not asked for, but what is :meth:`stated`: ``[rows]`` bool; None for none."""
        return None

    def stated(self, y: Tensor) -> Stated:
        """The states that one such answer ``y[1]`` holds or excludes; never asked of an unknown answer."""
        raise NotImplementedError

    def _in_cubes(self, y: Tensor) -> Sets:
        return cubes(y, self.space, self.stated, self._cubes)

    @cached_property
    def _cubes(self) -> dict[Any, Tensor]:
        return {}

    def static_law(self, target: Target[Any]) -> bool:
        """Whether the law's draws and marginals ask the device for nothing, and leave each other nothing to read."""
        return False

    def most_probable(self, target: Target[Any]) -> Tensor | None:
        """The likeliest z ∈ S_y of each example, where this inverse can tell without trying states one by one.

        A search that gives up leaves some z outside S_y in a row.
        """
        return self.law(target).mode() if self.exact else None

    def sole(self) -> Tensor | None:
        """The encoded answer of all states that have one, where it is the same for all; the rule's, if it knows."""
        return self.constraint.sole()

    @property
    def described(self) -> Inverse:
        """What is compared where a run is resumed."""
        return self

    def default_kernel(self) -> Any:
        """The kernel that suits this inverse, where it needs one of its own."""
        return None

    def for_rule(self, rule: Constraint) -> Inverse:
        """This inverse, for a task with that ``rule``; one that was made without a rule returns a twin that has it."""
        return self

    def record(self) -> Record | None:
        """What a saved model keeps of the rule: facts, with a ``kind`` of :data:`RECORDED`, and tensors; or None."""
        return None

    @classmethod
    def rebuild(cls, space: Any, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Inverse:
        """The inverse, with its rule, from a :meth:`record`; raises ValueError where that does not fit together."""
        raise NotImplementedError


INVERSES: Registry[Callable[..., Inverse]] = Registry("inverse")
"""Factories ``(rule, **settings) -> Inverse`` by name; the settings are those of a solver."""
# Inverses by the kind that their records name. They can be rebuilt without the user's function.
RECORDED: Registry[type[Inverse]] = Registry("kind of rule")


def drawn(inverse: Inverse, weights: CategoricalBelief, y: Tensor, seed: int) -> Start:
    """A state of each S_y that has one, drawn by ``weights`` from an inverse that knows the law."""
    found = inverse.law(Target(weights, y, 1.0)).log_mass() > -math.inf
    z = weights.mode()
    if bool(found.any()):
        z[found] = inverse.law(Target(weights.rows(found), y[found], 1.0)).draw(Sampler(seed, y.device))
    return Start(z, found, torch.ones_like(found))


def complete(z: Tensor, dropped: Dropped, values: Tensor) -> Tensor:
    """z with its dropped sites set to ``values``: the state (u, v)."""
    return z.scatter(-1, dropped.sites, values)


def candidates(sizes: Tensor, dropped: Tensor, options: int) -> tuple[Tensor, Tensor]:
    """All codes of the dropped sites, in lexicographic order: values ``[batch, options, d]`` and which are real.

    ``sizes`` are the alphabet sizes of all sites. Examples may drop different sites, so each row counts in
    its own mixed radix, and rows with fewer than ``options`` combinations are masked.
    """
    radix = sizes[dropped]  # [batch, d]
    later = radix.flip(-1).cumprod(-1).flip(-1)  # product of this radix and those after it
    counter = torch.arange(options, device=dropped.device)[None, :, None]
    values = counter // (later // radix)[:, None, :] % radix[:, None, :]
    return values, counter[..., 0] < later[:, :1]
