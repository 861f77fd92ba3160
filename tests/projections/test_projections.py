"""What is dropped, and the exact law of every move's proposals."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import Tensor

from exhaustive import every_path
from softground.dice import Sampler
from softground.errors import ProjectionError
from softground.kernels import DirectWalk
from softground.projections import (
    ChangeOne,
    Drop,
    Dropped,
    Move,
    Projection,
    RandomBlock,
    RandomDrop,
    SwapInside,
    SwapSymbols,
)
from softground.spaces import Categorical
from softground.target import Target

CPU = torch.device("cpu")
MIXED = Categorical(["abc", "x", "pq", "abcd"])
EQUAL = Categorical(["abc"] * 3)


class OnSome(Move):
    """A move on the sites of a mask."""

    def __init__(self, move: Move, kept: list[bool]) -> None:
        self.move, self.kept = move, torch.tensor(kept)

    def propose(self, dice: object, z: Tensor, kept: Tensor) -> Tensor:
        return self.move.propose(dice, z, self.kept.expand_as(z))  # type: ignore[arg-type]


def proposals(space: Categorical, move: Move, z: list[int], kept: list[bool]) -> dict[tuple[int, ...], Fraction]:
    """Every proposal from z with its probability: a walk without a rule at γ = ∞ accepts all."""

    def target(rows: int) -> Target[object]:  # type: ignore[type-var]
        return Target.at(space.uniform(rows, CPU), torch.zeros(rows), float("inf"))  # type: ignore[arg-type, return-value]

    _, probability, after, _ = every_path(DirectWalk(OnSome(move, kept)), torch.tensor([z]), target)  # type: ignore[arg-type]
    found: dict[tuple[int, ...], float] = {}
    for state, p in zip(after.tolist(), probability.tolist(), strict=True):
        found[tuple(state)] = found.get(tuple(state), 0.0) + p
    return {state: Fraction(p).limit_denominator(1000) for state, p in found.items() if p}


def test_change_one_is_uniform_over_movable_kept_sites_and_other_symbols() -> None:
    law = proposals(MIXED, ChangeOne(MIXED), [1, 0, 1, 2], [True, True, True, False])
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    assert law == {(0, 0, 1, 2): quarter, (2, 0, 1, 2): quarter, (1, 0, 0, 2): half}


def test_change_one_stays_where_all_kept_sites_are_fixed() -> None:
    assert proposals(MIXED, ChangeOne(MIXED), [1, 0, 1, 2], [False, True, False, False]) == {(1, 0, 1, 2): 1}


def test_change_one_needs_a_site_that_can_change() -> None:
    ChangeOne(Categorical(["x", "ab"]))
    with pytest.raises(ProjectionError, match="more than one symbol"):
        ChangeOne(Categorical(["x", "y"]))


def test_swap_inside_is_uniform_over_the_kept_pairs_of_a_block() -> None:
    space = Categorical(["abcde"] * 5)
    move = SwapInside(space, [[0, 1, 2], [3, 4]])
    third, z = Fraction(1, 3), [0, 1, 2, 3, 4]
    assert repr(move) == "SwapInside(4 pairs)"
    law = proposals(space, move, z, [True, True, True, False, True])
    assert law == {(1, 0, 2, 3, 4): third, (2, 1, 0, 3, 4): third, (0, 2, 1, 3, 4): third}
    assert proposals(space, move, z, [True, False, False, False, True]) == {tuple(z): 1}
    assert len(proposals(space, move, z, [True] * 5)) == 4


@pytest.mark.parametrize("blocks", [[], [[0]], [[0, 2]], [[0, 3], [0, 2]]], ids=str)
def test_swap_inside_refuses_blocks_without_pairs_or_of_mixed_alphabets(blocks: list[list[int]]) -> None:
    space = Categorical(["abc", "abc", "ab", "abc"])
    SwapInside(space, [[0, 1, 3], [2]])
    with pytest.raises(ProjectionError, match="same alphabet"):
        SwapInside(space, blocks)


def test_swap_symbols_is_uniform_over_pairs_and_changes_kept_sites_only() -> None:
    third = Fraction(1, 3)
    law = proposals(EQUAL, SwapSymbols(EQUAL), [0, 1, 2], [True, True, True])
    assert law == {(1, 0, 2): third, (2, 1, 0): third, (0, 2, 1): third}
    law = proposals(EQUAL, SwapSymbols(EQUAL), [0, 0, 2], [True, False, True])
    assert law == {(1, 0, 2): third, (2, 0, 0): third, (0, 0, 1): third}


@pytest.mark.parametrize("alphabets", [["abc", "ab"], ["a", "a"]], ids=str)
def test_swap_symbols_needs_one_alphabet_of_two_symbols_or_more(alphabets: list[str]) -> None:
    SwapSymbols(Categorical(["ab", "ab"]))
    with pytest.raises(ProjectionError, match="one alphabet of two or more"):
        SwapSymbols(Categorical(alphabets))


def test_a_fixed_set_is_shared_and_known_by_its_key() -> None:
    drop = Drop(MIXED, [3, 1])
    dropped = drop.draw(Sampler(0), 5, CPU)
    assert repr(drop) == "Drop(sites [3, 1] of 4)"
    assert (dropped.sites.tolist(), dropped.shared, dropped.key, dropped.count) == ([[3, 1]] * 5, True, (3, 1), 2)
    assert dropped.kept(4).tolist() == [[True, False, True, False]] * 5


def test_a_family_is_drawn_from_uniformly_for_each_example() -> None:
    family = RandomDrop(MIXED, 2)
    assert repr(family) == "RandomDrop(6 sets of 2 of 4 sites)"
    assert family.sets == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]

    class Even:
        def categorical(self, log_weights: Tensor) -> Tensor:
            assert log_weights.tolist() == [[0.0] * 6] * 6
            return torch.arange(6)

    dropped = family.draw(Even(), 6, CPU)  # type: ignore[arg-type]
    assert dropped.sites.tolist() == [list(s) for s in family.sets]
    assert (dropped.shared, dropped.key) == (False, None)


@pytest.mark.parametrize("sites", [[0, 0], [-1], [4], [0, 1, 2, 3], []], ids=str)
def test_impossible_sets_are_refused(sites: list[int]) -> None:
    for make in (lambda: Drop(MIXED, sites), lambda: RandomDrop(MIXED, [sites])):
        with pytest.raises(ProjectionError):
            make()


@pytest.mark.parametrize("sets", [[], [[0], [1, 2]], 0, 4], ids=str)
def test_impossible_families_are_refused(sets: int | list[list[int]]) -> None:
    with pytest.raises(ProjectionError):
        RandomDrop(MIXED, sets)
    assert len(RandomDrop(MIXED, 3).sets) == 4
    assert RandomDrop(MIXED, [[0]]).sets == [(0,)]


def test_rows_and_pairs_of_batches_keep_what_is_known() -> None:
    fixed = Dropped(torch.tensor([[0, 1]] * 3), shared=True, key=(0, 1))
    loose = Dropped(torch.tensor([[0, 1], [2, 3], [1, 2]]))
    for dropped in (fixed, loose):
        some, twice = dropped.rows(torch.tensor([2, 0])), dropped.twice()
        assert torch.equal(some.sites, dropped.sites[[2, 0]])
        assert torch.equal(twice.sites, torch.cat([dropped.sites] * 2))
        for other in (some, twice):
            assert (other.shared, other.key) == (dropped.shared, dropped.key)


def test_each_row_is_stuck_or_not_by_itself() -> None:
    z, first, last = torch.tensor([[0, 0, 1, 3]] * 2), [True, True, False, False], [False, True, False, False]
    kept = torch.tensor([last, first])
    after = ChangeOne(MIXED).propose(Sampler(0), z, kept)
    assert torch.equal(after[0], z[0])
    assert not torch.equal(after[1], z[1])
    board = torch.tensor([[0, 1, 2]] * 3)
    kept = torch.tensor([[True, False, True], [True, True, False], [False, False, False]])
    swapped = SwapInside(EQUAL, [[0, 1], [2]]).propose(Sampler(0), board, kept)
    assert swapped.tolist() == [[0, 1, 2], [1, 0, 2], [0, 1, 2]]


class Anywhere:
    """Dice on any device, also on one that holds no numbers."""

    def categorical(self, log_weights: Tensor) -> Tensor:
        return log_weights.argmax(-1)


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_what_a_part_remembers_follows_the_data(device: str) -> None:
    place, dice = torch.device(device), Anywhere()
    z = torch.zeros(2, 3, dtype=torch.long, device=place)
    parts = [ChangeOne(EQUAL), SwapInside(EQUAL, [[0, 1]]), SwapSymbols(EQUAL)]
    for move in parts:
        assert move.propose(dice, z, torch.ones_like(z, dtype=torch.bool)).device == place  # type: ignore[arg-type]
    for projection in (Drop(EQUAL, [0]), RandomDrop(EQUAL, 2)):
        dropped = projection.draw(dice, 2, place)  # type: ignore[arg-type]
        assert dropped.sites.device == dropped.kept(3).device == dropped.twice().sites.device == place
        assert projection._tensor.device == place
    for move in parts[1:]:
        assert move._pairs.device == place  # type: ignore[attr-defined]


@pytest.mark.parametrize("projection", [RandomDrop(EQUAL, 2), RandomBlock(EQUAL, 2)], ids=repr)
def test_every_example_has_a_set_of_its_own(projection: Projection) -> None:
    """One set for a whole batch would leave each chain's law as it is, and tie the chains together."""
    sets = projection.draw(Sampler(0), 60, CPU).sites
    _, counts = torch.unique(sets, dim=0, return_counts=True)  # type: ignore[no-untyped-call]
    assert len(counts) == 3
    assert int(counts.min()) > 6  # 20 ± 3.7 each: less by chance once in 6,000 seeds
