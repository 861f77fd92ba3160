r"""Searches among boards: all boards with some digits, and the most probable reading that makes one.

**Boards with some digits.** A set of digits is left for each cell. What one cell is sure of, its peers lose; a digit
that fits one cell of a group only goes there. Where neither says more, a cell with fewest digits left is tried.

**The most probable reading.** ``cost[i][k]`` is what it costs to read the digit k in cell i, −log P(z_i = k|x) up to a
constant. A node of the search is a set of digits for each cell that is read, and costs what the cheapest digits do; no
reading within it costs less. The cheapest node is always taken next:

- two cells of a group read the same digit k: either the first does not show k, or it does, and its peers do not;
- else the reading makes a board, if all cells are read, or a puzzle. If that has exactly one board, this is the most
  probable reading that has: every other node costs as much or more. Otherwise the node is split into all readings but
  this one (Lawler's partition).

So the answer is exact wherever the search ends within ``nodes``. It is quick if the network is mostly sure and right: a
node costs tens of microseconds, and the solution of a puzzle about a millisecond.

References: E. L. Lawler, Management Sci. 18 (1972), for the partition; the conflicts are those of branch and bound.
"""

import heapq
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, islice

import numpy as np
from torch import Tensor

from .rule import groups

NODES, LEAST = 3_000, 16  # of a search; and of one that comes after several that gave up
Left = list[int]  # the digits left for each cell, as bits
Found = tuple[list[int], list[int]]  # a reading, −1 where nothing is read, and the board that it makes


@cache
def peers_of(size: int) -> list[list[int]]:
    """The cells that share a group with each cell."""
    return [sorted({p for group in groups(size) if cell in group for p in group} - {cell}) for cell in range(size**2)]


def solutions(size: int, clues: Sequence[int], rng: np.random.Generator | None = None) -> Iterator[list[int]]:
    """Every board with these digits, −1 where a cell is empty; digits are tried in a random order if ``rng`` is given.

    >>> len(list(solutions(4, [0, 1, 2, 3] + [-1] * 12)))
    12
    """
    left = [2**size - 1] * size**2
    if all(digit < 0 or _place(left, cell, 1 << digit, peers_of(size)) for cell, digit in enumerate(clues)):
        yield from _extended(size, left, rng)


def _extended(size: int, left: Left, rng: np.random.Generator | None) -> Iterator[list[int]]:
    """The boards that are left."""
    if not _only_places(size, left):
        return
    unsure = [cell for cell, bits in enumerate(left) if bits & (bits - 1)]
    if not unsure:
        yield [bits.bit_length() - 1 for bits in left]
        return
    cell = min(unsure, key=lambda c: left[c].bit_count())
    options = [1 << digit for digit in range(size) if left[cell] >> digit & 1]
    for option in options if rng is None else [options[i] for i in rng.permutation(len(options))]:
        fewer = left.copy()
        if _place(fewer, cell, option, peers_of(size)):
            yield from _extended(size, fewer, rng)


def _place(left: Left, cell: int, bit: int, peers: list[list[int]]) -> bool:
    """Put a digit into a cell, and take it from its peers, and so on; whether every cell still has a digit."""
    if not left[cell] & bit:
        return False
    left[cell], sure = bit, [cell]
    while sure:
        cell = sure.pop()
        bit = left[cell]
        for peer in peers[cell]:
            if left[peer] & bit:
                left[peer] ^= bit
                if not left[peer]:
                    return False
                if not left[peer] & (left[peer] - 1):
                    sure.append(peer)
    return True


def _only_places(size: int, left: Left) -> bool:
    """Put digits where they have one place in a group only, until nothing changes; whether none is left without."""
    every, moved = 2**size - 1, True
    while moved:
        moved = False
        for group in groups_of(size):
            once = twice = 0
            for cell in group:
                twice |= once & left[cell]
                once |= left[cell]
            if once != every:
                return False
            single = once & ~twice
            for cell in group if single else ():
                bits = left[cell]
                if bits & single and bits & (bits - 1):
                    moved = True
                    if bits & single & (bits & single) - 1 or not _place(left, cell, bits & single, peers_of(size)):
                        return False  # two digits have their only place here
    return True


@cache
def groups_of(size: int) -> list[list[int]]:
    """The groups, made once."""
    return groups(size)


def each_most_probable(size: int, scores: Tensor, shown: Sequence[Sequence[int]]) -> Iterator[Found | None]:
    """:func:`most_probable` for each row of log-probabilities ``[rows, S², S]`` and of cells that are read."""
    nodes = NODES
    for cost, cells in zip((-scores.double()).tolist(), shown, strict=True):
        found = most_probable(size, cost, cells, nodes)
        nodes = NODES if found else max(LEAST, nodes // 2)  # a network that knows nothing yet is not to take hours
        yield found


def most_probable(size: int, cost: Sequence[Sequence[float]], shown: Sequence[int], nodes: int = NODES) -> Found | None:
    """The cheapest reading of the ``shown`` cells that has one board only, −1 elsewhere, and that board.

    None where no reading has one, or where ``nodes`` are not enough to tell.
    """
    read = set(shown)
    neighbours = [read.intersection(peers) for peers in peers_of(size)]
    place, every = count(), 2**size - 1
    heap = [(sum(min(cost[cell]) for cell in shown), next(place), {cell: every for cell in shown})]

    @cache
    def cheapest(cell: int, bits: int) -> tuple[int, float]:
        """The cheapest of these digits, and what the next one costs more."""
        first, *other = sorted((cost[cell][d], d) for d in range(size) if bits >> d & 1)
        return first[1], other[0][0] - first[0] if other else np.inf

    for _ in range(nodes):
        if not heap:
            return None
        total, _, left = heapq.heappop(heap)
        best = {cell: cheapest(cell, bits)[0] for cell, bits in left.items()}
        gap = {cell: cheapest(cell, bits)[1] for cell, bits in left.items()}
        split = _conflict(size, neighbours, best, gap)
        if split is None:
            clues = [best.get(cell, -1) for cell in range(size**2)]
            found = list(islice(solutions(size, clues), 2))
            if len(found) == 1:
                return clues, found[0]
            children, fixed = [], dict(left)
            for cell in sorted(left, key=gap.__getitem__):
                children.append(fixed | {cell: left[cell] & ~(1 << best[cell])})
                fixed[cell] = 1 << best[cell]
        else:
            bit = 1 << best[split]
            without = {p: left[p] & ~bit for p in neighbours[split] if left[p] & bit}
            children = [left | {split: left[split] & ~bit}, left | {split: bit} | without]
        for child in children:
            changed = [c for c in child if child[c] != left[c]]
            if all(child[c] for c in changed):
                rise = sum(cost[c][cheapest(c, child[c])[0]] - cost[c][best[c]] for c in changed)
                if rise < np.inf:
                    heapq.heappush(heap, (total + rise, next(place), child))
    return None


def _conflict(size: int, neighbours: list[set[int]], best: dict[int, int], gap: dict[int, float]) -> int | None:
    """A cell that reads what a peer reads, such that both ways out cost as much as possible."""
    dearest, found = -1.0, None
    places: list[list[int]] = [[] for _ in range(size)]
    for cell, digit in best.items():
        places[digit].append(cell)
    for cells in places:
        for cell in cells:
            same = [gap[p] for p in cells if p in neighbours[cell]]
            if same and (least := min(gap[cell], sum(same))) > dearest:
                dearest, found = least, cell
    return found
