r"""Constraint propagation for maps of symbols: which images can a few symbols have together?

A variable is a symbol whose image under the map is sought; its *domain*, the images still possible, are the bits of a
whole number. A :class:`Relation` lists the combinations of images that some variables may have. Each value of each
variable owns the set of combinations that hold it, again as bits, so that a few operations on long numbers find the
combinations that are left and the values without any, which leave their domains: generalised arc consistency by
compact tables (J. Demeulenaere et al., CP 2016).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from torch import Tensor

Domains = list[int]


@lru_cache(maxsize=2**16)
def members(domain: int) -> tuple[int, ...]:
    """The values in a domain.

    >>> members(0b1011)
    (0, 1, 3)
    """
    return tuple(value for value in range(domain.bit_length()) if domain >> value & 1)


class Relation:
    """Combinations of values that the variables of ``scope`` may take: ``allowed[combinations, variables]``."""

    def __init__(self, scope: Sequence[int], allowed: Tensor) -> None:
        self.scope, rows = tuple(scope), allowed.numpy()
        self.holding = [{int(v): _bits(column == v) for v in np.unique(column)} for column in rows.T]
        self.every = (1 << len(rows)) - 1

    def left(self, domains: Domains) -> int:
        """The combinations that the domains leave, as bits."""
        left = self.every
        for variable, holding in zip(self.scope, self.holding, strict=True):
            domain, some = domains[variable], 0
            for value, rows in holding.items():
                if domain >> value & 1:
                    some |= rows
            left &= some
        return left

    def narrow(self, domains: Domains, left: int) -> list[int]:
        """Take the values without a combination from the domains; gives the variables that lost any."""
        changed = []
        for variable, holding in zip(self.scope, self.holding, strict=True):
            domain = 0
            for value, rows in holding.items():
                if rows & left:
                    domain |= 1 << value
            if domains[variable] & ~domain:
                domains[variable] &= domain
                changed.append(variable)
        return changed


def injections(domains: Sequence[int], clash: Sequence[int] | None = None, most: int = 2**20) -> int | None:
    """In how many ways variables take different values of their domains; None where that takes too long to count.

    It is the permanent of a 0/1 matrix: a product where domains are equal or disjoint, else a sum over the sets of
    values that are taken. ``clash[value]`` are those that ``value`` takes, where it is not itself alone.

    >>> injections([0b111, 0b111, 0b1000]), injections([0b011, 0b110]), injections([1, 1])
    (6, 3, 0)
    >>> injections([0b1111] * 2, clash=[0b0011, 0b0011, 0b1100, 0b1100])
    8
    """
    single = next((domain for domain in domains if domain.bit_count() == 1), 0)
    if single:
        taken, rest = single if clash is None else clash[single.bit_length() - 1], list(domains)
        rest.remove(single)
        return injections([domain & ~taken for domain in rest], clash, most)
    # Of each domain that occurs, how many of its values take the same ones.
    alike = {
        domain: Counter(1 << value if clash is None else clash[value] for value in members(domain))
        for domain in domains
    }
    if len({key for keys in alike.values() for key in keys}) == sum(map(len, alike.values())):
        each = ((alike[domain].values(), domains.count(domain)) for domain in alike)
        return math.prod(math.factorial(many) * _selections(sizes, many) for sizes, many in each)
    ways = {0: 1}  # by the values that are taken
    for domain in sorted(domains, key=int.bit_count):
        after: dict[int, int] = {}
        for taken, count in ways.items():
            for value in members(domain & ~taken):
                key = taken | (1 << value if clash is None else clash[value])
                after[key] = after.get(key, 0) + count
        ways = after
        if len(ways) > most:
            return None
    return sum(ways.values())


def _selections(sizes: Iterable[int], many: int) -> int:
    """In how many ways one member is chosen of each of ``many`` groups: an elementary symmetric polynomial."""
    ways = [1] + [0] * many
    for size in sizes:
        for taken in range(many, 0, -1):
            ways[taken] += size * ways[taken - 1]
    return ways[many]


def _bits(flags: Any) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
