r"""The inverse seam: given Π(z) = u and y, which completions exist?

An inverse returns the **fibre**

.. math:: F(u) = \{ v : (u, v) \in S_y \},

every completion v of the dropped sites up to a cap, with a flag that says whether that is all of them.
A complete fibre is a set, the same by any method. A single completion would depend on the solver's choice, and a kernel
that accepts it would not sample Q*.

Other operations are functions here. An inverse with a better method registers it, as in ``@pinned.register``.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import torch
from torch import Tensor

from ..constraints.base import Constraint, outside_inference
from ..dice import Sampler, any_of
from ..errors import InverseError
from ..projections.base import Dropped
from ..registry import Registry
from ..retired import METHODS
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .codes import Solutions, entries, index_of, ragged
from .sets import Law, Listed, Sets


@dataclass(frozen=True, eq=False)
class Fibre:
    """Completions of the dropped sites for a batch of projected states.

    A fibre is incomplete if a solver gave up or the cap was reached. Exact kernels then reject the move and count it.
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
    """Initial feasible states ``z[batch, sites]``, whether each was found, and whether its absence is proved."""

    z: Tensor
    found: Tensor
    proved: Tensor


class Inverse(ABC):
    """Computes fibres and the first state of each chain. Most inverses have S_y as a set, and so Q*."""

    space: Any
    constraint: Constraint  # the rule; a listing needs none
    exact: bool = False  # whether law() gives Q* without a search
    _warned: bool = False  # about an answer with an empty S_y

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if gone := [name for name in METHODS if name in vars(cls)]:
            raise InverseError(f"{cls.__name__}.{gone[0]} would never be called. {METHODS[gone[0]]}")

    def __getattr__(self, name: str) -> Any:
        if name not in ("solutions", "most_probable", "start_given"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        text = f"inverse.{name}(…) is now softground.inverses.{name}(inverse, …)."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return partial(globals()[name], self)

    @abstractmethod
    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        """F(Π(z)) for each row of ``z[batch, sites]``, whose dropped entries are ignored."""

    @abstractmethod
    def start(self, y: Tensor, seed: int) -> Start:
        """A feasible state for each answer, without any label."""

    def set(self, y: Tensor) -> Sets:
        """S_y of each answer."""
        raise InverseError(
            f"{self!r} has no set S_y, and so no law. Use a table, a listing or a scan, or Z3 or the enumeration of a "
            "small space to list S_y."
        )

    def law(self, target: Target[Any]) -> Law:
        """Q* of a batch."""
        if torch.is_inference_mode_enabled():  # caches must not hold inference tensors
            with outside_inference():
                return self.law(target)
        rule = getattr(self, "constraint", None)  # a listing may have none
        y = target.answers
        if rule is not None and rule.numbering is not None:
            y = y.as_subclass(Tensor) if target.checked else rule.numbering.marks.check(y)

        def warn(rows: Sequence[int]) -> None:
            if not self._warned:
                self._warned = True
                answer = "y" if rule is None else repr(rule.answer(y[rows[0]]))
                others = f" and {len(rows) - 1} more row(s)" if len(rows) > 1 else ""
                known = " with the known symbols" if target.weights.pinned else ""
                warnings.warn(
                    f"Nothing{known} explains the answer {answer} of row {rows[0]} of this batch{others}: the "
                    "log-mass is −∞. Correct or remove such examples.",
                    stacklevel=4,
                )

        return Law(self.set(y), target.weights, warn)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y for each row."""
        return self.constraint.feasible(z, y)


class Solving(Inverse):
    """An inverse by a solver, which takes milliseconds per fibre."""

    solver_seconds: float = 0.0  # spent in the solver so far

    @property
    def faults(self) -> dict[str, int]:
        """How often the solver failed so far, by name."""
        return {}


INVERSES: Registry[Callable[..., Inverse]] = Registry("inverse")
"""Factories ``(rule, **settings) -> Inverse`` by name; the settings are those of a solver."""


def solver_behind(inverse: Inverse) -> Solving | None:
    """The solving inverse: this one, or the one that made its lists."""
    behind = getattr(inverse, "rest", inverse)
    return behind if isinstance(behind, Solving) else None


def cost(inverse: Inverse) -> str:
    """What computes its fibres: ``"tensor"`` code, or a ``"solver"``."""
    return "solver" if isinstance(inverse, Solving) else "tensor"


@singledispatch
def sole(inverse: Any) -> Tensor | None:
    """The encoded answer ``[1, …]`` if all states with an answer share one; else None."""
    return inverse.constraint.sole()  # type: ignore[no-any-return]


@singledispatch
def own_kernel(inverse: object) -> Any:
    """The kernel that an inverse without Q* requires; None if the usual one serves."""
    return None


@singledispatch
def mode_by_search(inverse: object, target: Target[Any]) -> Tensor | None:
    """The likeliest z ∈ S_y of each example, by search; None if the inverse cannot search.

    A search that gives up leaves a z outside S_y in its row.
    """
    return None


def finds_mode(inverse: Inverse) -> bool:
    """Whether :func:`most_probable` has a method for this inverse."""
    return inverse.exact or mode_by_search.dispatch(type(inverse)) is not mode_by_search.dispatch(object)


def most_probable(inverse: Inverse, target: Target[Any]) -> Tensor | None:
    """The likeliest z ∈ S_y of each example; None if the inverse would have to try states one by one."""
    return inverse.law(target).mode() if inverse.exact else mode_by_search(inverse, target)


def solutions(inverse: Inverse, y: Tensor) -> Solutions:
    """All of S_y for each answer: from its list, else as the fibre over all sites."""
    of = inverse.set(y)
    if isinstance(of, Listed) and not of.cubes:
        place, owner, offsets = entries(*of.which.unbind(1))
        return Solutions(index_of(of.codes[:, place], of.sizes), owner, offsets)
    if not inverse.space.indexable:
        raise InverseError(f"{inverse!r} cannot list states: there are too many to be numbered.")
    sites = torch.arange(inverse.space.sites, device=y.device)[None]
    zeros, everything = torch.zeros_like(sites), Dropped(sites, shared=True)
    found = [inverse.fibre(zeros, one, everything) for one in torch.split(y, 1)]
    if not all(bool(fibre.complete.all()) for fibre in found):
        raise InverseError(f"{inverse!r} cannot list all states of these answers: there are too many.")
    rows = [inverse.space.index(fibre.values[0][fibre.mask[0]]) for fibre in found]
    return Solutions(torch.cat(rows), *ragged(torch.tensor([len(row) for row in rows], device=y.device)))


def start_given(inverse: Inverse, y: Tensor, seed: int, known: Tensor | None) -> Start:
    """A first state of each S_y with the known symbols: codes ``known[batch, sites]``, −1 if unknown."""
    if known is None:
        return inverse.start(y, seed)
    z, found = known.clamp(min=0), torch.zeros(len(y), dtype=torch.bool, device=y.device)
    proved, given = found.clone(), (known >= 0).any(1)
    for rows in (given.nonzero().flatten(), (~given).nonzero().flatten()):
        if len(rows):
            some = pinned(inverse, y[rows], seed, known[rows]) if given[rows[0]] else inverse.start(y[rows], seed)
            z[rows], found[rows], proved[rows] = some.z, some.found, some.proved
    return Start(z, found, proved)


@singledispatch
def pinned(inverse: Any, y: Tensor, seed: int, known: Tensor) -> Start:
    """:func:`start_given` for rows that all have a known symbol.

    With an exact inverse, a uniform draw. Otherwise a completion of the known sites; an inverse that searches should
    search with the known sites fixed.
    """
    if inverse.exact:
        return drawn(inverse, inverse.space.uniform(len(y), y.device).given(known), y, seed)
    z, found = known.clamp(min=0), torch.zeros(len(y), dtype=torch.bool, device=y.device)
    proved, dice, free = ~found, Sampler(seed, y.device), (known < 0).sum(1)
    for count in sorted(set(free.tolist())):
        rows = (free == count).nonzero().flatten()
        if not count:
            found[rows] = inverse.feasible(z[rows], y[rows])
            continue
        dropped = Dropped((known[rows] < 0).nonzero()[:, 1].view(len(rows), count))
        fibre = inverse.fibre(z[rows], y[rows], dropped)
        option = any_of(dice, fibre.mask | (fibre.count == 0)[:, None])
        chosen = fibre.values[torch.arange(len(rows), device=y.device), option]
        z[rows], found[rows] = complete(z[rows], dropped, chosen), fibre.count > 0
        proved[rows] = fibre.complete
    return Start(z, found, proved)


def coded(inverse: Inverse, y: Tensor) -> Tensor:
    """Answers' numbers as codes of the inverse's rule."""
    numbering = getattr(getattr(inverse, "constraint", None), "numbering", None)
    return y if numbering is None else numbering.marks.codes(y)


def empty(inverse: Inverse, y: Tensor, known: Tensor | None = None) -> Tensor:
    """Which S_y have no state with the known symbols: bool ``[rows]``."""
    weights = inverse.space.uniform(len(y), y.device)
    weights = weights if known is None else weights.given(known)
    return torch.isneginf(inverse.law(Target(weights, y, 1.0)).log_mass(quiet=True))


def drawn(inverse: Inverse, weights: CategoricalBelief, y: Tensor, seed: int) -> Start:
    """A state of each non-empty S_y, drawn by ``weights`` from an exact inverse."""
    found = inverse.law(Target(weights, y, 1.0, checked=True)).log_mass(quiet=True) > -math.inf
    z = weights.mode()
    if bool(found.any()):
        z[found] = inverse.law(Target(weights.rows(found), y[found], 1.0, checked=True)).draw(Sampler(seed, y.device))
    return Start(z, found, torch.ones_like(found))


def complete(z: Tensor, dropped: Dropped, values: Tensor) -> Tensor:
    """z with its dropped sites set to ``values``: the state (u, v)."""
    return z.scatter(-1, dropped.sites, values)


def candidates(sizes: Tensor, dropped: Tensor, options: int) -> tuple[Tensor, Tensor]:
    """All codes of the dropped sites, in lexicographic order: values ``[batch, options, d]`` and which are real.

    ``sizes`` are the alphabet sizes of all sites. Examples may drop different sites, so each row counts in its own
    mixed radix, and rows with fewer than ``options`` combinations are masked.
    """
    radix = sizes[dropped]  # [batch, d]
    later = radix.flip(-1).cumprod(-1).flip(-1)  # product of this radix and those after it
    counter = torch.arange(options, device=dropped.device)[None, :, None]
    values = counter // (later // radix)[:, None, :] % radix[:, None, :]
    return values, counter[..., 0] < later[:, :1]
