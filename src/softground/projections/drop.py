r"""Projections that drop sites: one fixed set (the paper's), or a family drawn from at every step.

The paper drops a fixed set, for length-7 formulas the third and fifth symbols (sites 2 and 4, from 0). The choice
of a set does not depend on the chain's state. So a step with a random set is a mixture of kernels that each leave Q*
invariant, and leaves it invariant too. It connects states that one set cannot connect.
"""

from collections.abc import Sequence
from itertools import combinations

import torch

from ..dice import Dice, any_of
from ..errors import ProjectionError
from ..spaces.base import Space
from .base import Dropped, Projection


class Drop(Projection):
    """Drop the same sites at every step.

    >>> from softground.spaces import Categorical
    >>> Drop(Categorical([range(10)] * 7), [2, 4])
    Drop(sites [2, 4] of 7)
    """

    def __init__(self, space: Space, sites: Sequence[int]) -> None:
        self.sites = _checked(sites, space.sites)
        self._of = space.sites
        self._tensor = torch.tensor(self.sites)

    def __repr__(self) -> str:
        return f"Drop(sites {list(self.sites)} of {self._of})"

    def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
        self._tensor = self._tensor.to(device)
        return Dropped(self._tensor.expand(batch, -1), shared=True, key=self.sites)


class RandomDrop(Projection):
    """Draw the dropped sites from a family, uniformly, at every step and for every example.

    ``sets`` are the family, each set of the same size; or an int d for all sets of d sites.

    >>> from softground.spaces import Categorical
    >>> RandomDrop(Categorical([range(10)] * 7), 2)
    RandomDrop(21 sets of 2 of 7 sites)
    """

    def __init__(self, space: Space, sets: int | Sequence[Sequence[int]]) -> None:
        if isinstance(sets, int):
            _checked(range(sets), space.sites)
            sets = list(combinations(range(space.sites), sets))
        self.sets = [_checked(s, space.sites) for s in sets]
        if not self.sets or len({len(s) for s in self.sets}) != 1:
            raise ProjectionError(
                f"The family of drop sets is {[list(s) for s in self.sets]}; expected at least one set, all of the "
                "same size. Compose kernels with different projections to mix sizes."
            )
        self.of, self.size = space.sites, len(self.sets[0])
        self._tensor = torch.tensor(self.sets)

    def __repr__(self) -> str:
        return f"RandomDrop({len(self.sets)} sets of {self.size} of {self.of} sites)"

    def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
        self._tensor = self._tensor.to(device)
        return Dropped(self._tensor[dice.categorical(torch.zeros(batch, len(self.sets), device=device))])


class RandomBlock(Projection):
    """Drop ``size`` sites, every set of that many as likely as any other, drawn at every step and for every example.

    As ``RandomDrop(space, size)`` does, for more sets than could be listed: blocks of many sites, which a solver
    completes given the rest. ``Collapsed(inverse, RandomBlock(space, 8), Stay())`` is block Gibbs.

    >>> from softground.spaces import Categorical
    >>> RandomBlock(Categorical([range(10)] * 40), 12)
    RandomBlock(12 of 40 sites)
    """

    def __init__(self, space: Space, size: int) -> None:
        self.size, self.of = len(_checked(range(size), space.sites)), space.sites

    def __repr__(self) -> str:
        return f"RandomBlock({self.size} of {self.of} sites)"

    def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
        free, drawn = torch.ones(batch, self.of, dtype=torch.bool, device=device), []
        for _ in range(self.size):
            drawn.append(any_of(dice, free))
            free = free.scatter(1, drawn[-1][:, None], False)
        return Dropped(torch.stack(drawn, 1).sort(1).values)


def _checked(sites: Sequence[int], count: int) -> tuple[int, ...]:
    given = tuple(sites)
    if len(set(given)) != len(given) or any(not 0 <= s < count for s in given):
        raise ProjectionError(
            f"Dropped sites {list(given)} were given; expected distinct sites in 0 … {count - 1} (counted from 0)."
        )
    if not given:
        raise ProjectionError("The projection drops nothing: then no inverse is needed and nothing becomes connected.")
    if len(given) == count:
        raise ProjectionError(
            f"The projection drops all {count} sites: nothing is left to walk on. Drop fewer sites, or use the exact "
            "kernel, which needs no projection."
        )
    return given
