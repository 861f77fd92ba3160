"""Moves for chains that would stand still, proved on small spaces: blocks re-solved, and swaps of whole symbols."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from exhaustive import reaches_everything, transition_matrix
from problems import PROBLEMS, Problem
from softground.constraints import CPMpy
from softground.dice import Dice
from softground.inverses import CPSAT, Inverse
from softground.kernels import Collapsed, Composed, DirectWalk, Guided, Info, Kernel, fibre_weights, pick
from softground.kernels.base import redrawn
from softground.projections import ChangeOne, Dropped, Move, RandomBlock, RandomDrop, Stay, SwapSymbols
from softground.target import Target

SUM, EQUAL = PROBLEMS[0], PROBLEMS[2]
GAMMA, TOLERANCE = 0.7, 1e-12


def matrix_of(kernel: Kernel, problem: Problem, y: Tensor | None = None) -> Tensor:
    def target(batch: int) -> Target[Any]:
        answers = problem.program.encode([problem.answer]) if y is None else y
        return Target.at(problem.belief(batch), answers.expand(batch), GAMMA)

    return transition_matrix(kernel, problem.states, target, problem.space)


def bias(matrix: Tensor, problem: Problem) -> float:
    law = problem.law(GAMMA)
    return float((law @ matrix - law).abs().max())


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_random_blocks_keep_the_law_and_are_those_of_the_listed_family(problem: Problem) -> None:
    move = ChangeOne(problem.space)
    blocks = matrix_of(Collapsed(problem.table, RandomBlock(problem.space, 2), move), problem)
    listed = matrix_of(Collapsed(problem.table, RandomDrop(problem.space, 2), move), problem)
    assert bias(blocks, problem) < TOLERANCE
    assert reaches_everything(blocks)
    assert torch.allclose(blocks, listed, atol=TOLERANCE, rtol=0)
    guided = matrix_of(Guided(problem.table, RandomBlock(problem.space, 2)), problem)
    assert bias(guided, problem) < TOLERANCE


@pytest.mark.parametrize("cap", [1, 2, 64])
def test_blocks_that_a_solver_cannot_list_stay_and_keep_the_law(cap: int) -> None:
    """Whether a fibre is whole depends on the sites kept alone, so that staying is a Gibbs step as well."""
    rule = CPMpy(lambda z, y: sum(z) == y, SUM.space)
    by_solver = CPSAT(rule, cap=cap, table=0)
    kernel = Collapsed(by_solver, RandomBlock(SUM.space, 2), Stay(), marginals=True)
    matrix = matrix_of(kernel, SUM, rule.encode([SUM.answer]))
    assert bias(matrix, SUM) < TOLERANCE
    assert reaches_everything(matrix) is (cap > 1)
    assert (by_solver.capped > 0) is (cap < 64)


class Smallest(Kernel):
    """Block Gibbs whose block looks where the chain stands: the site with the smallest symbol is redrawn."""

    def __init__(self, inverse: Inverse) -> None:
        self.inverse = inverse

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        dropped = Dropped(z.argmin(1, keepdim=True))
        fibre = self.inverse.fibre(z, target.answers, dropped)
        drawn = pick(fibre.values, dice.categorical(fibre_weights(target, dropped, fibre)))
        after = z.scatter(1, dropped.sites, drawn)
        return after, redrawn(z, after, None)


class Onwards(Move):
    """A 'swap' that leads nowhere back: every symbol becomes the next."""

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        return (z + 1) % 3


def test_a_block_or_swap_that_is_not_symmetric_is_caught() -> None:
    assert bias(matrix_of(DirectWalk(Onwards(), EQUAL.program), EQUAL), EQUAL) > 1e-3
    uneven = next(p for p in PROBLEMS if p.name == "uneven")
    assert bias(matrix_of(Smallest(uneven.table), uneven), uneven) > 1e-3


@pytest.mark.parametrize("problem", [SUM, EQUAL], ids=lambda p: p.name)
def test_swaps_of_symbols_keep_the_law_and_join_what_blocks_leave_apart(problem: Problem) -> None:
    """Where all three symbols are equal no block of one site moves anything, and swaps reach everything."""
    single = Collapsed(problem.table, RandomBlock(problem.space, 1), Stay())
    walk = matrix_of(Composed([DirectWalk(SwapSymbols(problem.space), problem.program), single]), problem)
    assert bias(walk, problem) < TOLERANCE
    assert not reaches_everything(matrix_of(single, problem))
    assert reaches_everything(walk) is (problem is EQUAL)
