"""Kernels proved on small spaces: the full transition matrix, built from the code that runs, against Q*."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from exhaustive import reaches_everything, transition_matrix
from problems import PROBLEMS, Problem
from softground.dice import Dice, Sampler
from softground.inverses import sets
from softground.inverses.base import Inverse, complete
from softground.kernels import (
    Collapsed,
    Composed,
    DirectWalk,
    Exact,
    Guided,
    Info,
    Kernel,
    Metropolis,
    Several,
    Uniform,
)
from softground.kernels.base import fibre_weights, info, pick
from softground.projections import ChangeOne, Drop, Dropped, Projection, RandomDrop
from softground.target import Target

GAMMAS = (1.0, 0.4, math.inf)
TOLERANCE = 1e-12


def kernels(problem: Problem, inverse: Inverse | None = None) -> dict[str, Kernel]:
    """Every kernel that claims to be exact; all with the same inverse where one is given."""
    ragged, padded, inverse = inverse or problem.ragged, inverse or problem.padded, inverse or problem.table
    fixed = Drop(problem.space, problem.drops[0])
    family = RandomDrop(problem.space, problem.drops)
    move = ChangeOne(problem.space)
    return {
        "uniform": Uniform(inverse, family, move),
        "collapsed": Collapsed(inverse, family, move),
        "collapsed, fixed drop": Collapsed(inverse, fixed, move),
        "guided": Guided(inverse, family),
        "guided, fixed drop": Guided(inverse, fixed),
        "several": Several(inverse, family, tries=1, reach=1),
        "several, fixed drop": Several(inverse, fixed, tries=1, reach=1),
        "exact": Exact(ragged),
        "exact, padded": Exact(padded),
        "composed": Composed([Guided(inverse, fixed), Uniform(inverse, fixed, move)]),
    }


EXACT_KERNELS = tuple(kernels(PROBLEMS[0]))


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", EXACT_KERNELS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_leaves_the_softened_grounding_invariant(problem: Problem, name: str, gamma: float) -> None:
    matrix = matrix_of(kernels(problem)[name], problem, gamma)
    law = problem.law(gamma)
    assert torch.allclose(matrix.sum(1), torch.ones(len(law), dtype=torch.float64), atol=TOLERANCE, rtol=0)
    assert float((law @ matrix - law).abs().max()) < TOLERANCE
    assert reaches_everything(matrix)


@pytest.mark.parametrize("name", ["uniform", "several, fixed drop", "exact", "exact, padded"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_detailed_balance_where_claimed(problem: Problem, name: str) -> None:
    matrix = matrix_of(kernels(problem)[name], problem, 0.7)
    flow = problem.law(0.7)[:, None] * matrix
    assert float((flow - flow.T).abs().max()) < TOLERANCE


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_direct_walk_has_detailed_balance(problem: Problem, gamma: float) -> None:
    """It reaches only what its moves connect: nothing where every state is isolated."""
    matrix = matrix_of(DirectWalk(ChangeOne(problem.space), problem.program), problem, gamma)
    flow = problem.law(gamma)[:, None] * matrix
    assert float((flow - flow.T).abs().max()) < TOLERANCE
    assert (float(matrix.diagonal().min()) < 0.9) is (problem.name not in ("sum", "all equal"))


@pytest.mark.parametrize("kind", ["uniform", "collapsed", "guided", "metropolis"])
def test_the_projection_is_asked_once_for_the_chains_of_the_batch(kind: str) -> None:
    problem, asked = PROBLEMS[0], []

    class Asked(Drop):
        def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
            asked.append((dice, batch, device))
            return super().draw(dice, batch, device)

    projection, move, dice = Asked(problem.space, problem.drops[0]), ChangeOne(problem.space), Sampler(0)
    made: dict[str, Kernel] = {
        "uniform": Uniform(problem.table, projection, move),
        "collapsed": Collapsed(problem.table, projection, move),
        "guided": Guided(problem.table, projection),
        "metropolis": Metropolis(problem.table, projection, move),
    }
    made[kind].step(dice, problem.states, problem.target(len(problem.states), 1.0))
    assert asked == [(dice, len(problem.states), problem.states.device)]


@pytest.mark.parametrize("name", EXACT_KERNELS)
def test_the_inverse_does_not_matter(name: str) -> None:
    problem = PROBLEMS[0 if name == "composed" else 1]  # the outcomes of two steps multiply; that rule takes tensors
    by_table = matrix_of(kernels(problem)[name], problem, 0.5)
    by_enumeration = matrix_of(kernels(problem, problem.enumeration)[name], problem, 0.5)
    assert torch.allclose(by_table, by_enumeration, atol=1e-15, rtol=0)  # padded rows add up in another order


@dataclass(frozen=True)
class Broken(Kernel):
    """The collapsed kernel with the fibres' sums forgotten in its ratio. It must fail every test of this suite."""

    inverse: Inverse
    projection: Projection
    move: ChangeOne

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        kept = dropped.kept(z.shape[1])
        proposal = self.move.propose(dice, z, kept)
        fibre = self.inverse.fibre(proposal, target.answers, dropped)
        weights = fibre_weights(target, dropped, fibre)
        exists = fibre.count > 0
        option = dice.categorical(torch.where(exists[:, None], weights, 0.0))
        proposal = complete(proposal, dropped, pick(fibre.values, option))
        difference = target.weights.site_scores(proposal) - target.weights.site_scores(z)
        accepted = dice.accept(torch.where(kept, difference, 0).sum(-1).masked_fill(~exists, -math.inf))
        after = torch.where(accepted[:, None], proposal, z)
        return after, info(z, after, accepted, ~exists & False)


def broken(problem: Problem) -> Kernel:
    return Broken(problem.table, RandomDrop(problem.space, problem.drops), ChangeOne(problem.space))


@pytest.mark.parametrize("problem", [PROBLEMS[1], PROBLEMS[3]], ids=lambda p: p.name)
def test_a_broken_kernel_is_caught(problem: Problem) -> None:
    law, matrix = problem.law(0.7), matrix_of(broken(problem), problem, 0.7)
    assert float((law @ matrix - law).abs().max()) > 1e-3


def test_bias_of_the_papers_kernel(record_property: Any) -> None:
    """The paper's acceptance ratio does not sample Q*; how far it is off is measured here and not hidden."""
    problem = next(p for p in PROBLEMS if p.name == "uneven")
    projection, move = Drop(problem.space, problem.drops[1]), ChangeOne(problem.space)
    kernel = Metropolis(problem.table, projection, move)
    y = problem.program.encode([problem.answer]).expand(len(problem.states))
    count = problem.table.fibre(problem.states, y, Dropped(torch.tensor(projection.sites).expand(len(y), -1))).count
    for gamma, least in ((1.0, 0.01), (math.inf, 0.2)):
        law, matrix = problem.law(gamma), matrix_of(kernel, problem, gamma)
        stationary = torch.linalg.matrix_power(matrix, 4096)[0]
        bias = float((stationary - law).abs().sum() / 2)
        record_property(f"total variation of metropolis from Q* at gamma {gamma}", bias)
        print(f"\nmetropolis, a completion at random: total variation from Q* {bias:.3f} (γ = {gamma})")
        assert bias > least
        # It is not noise but the law its docstring names: Q* with every state divided by its fibre's size.
        assert torch.allclose(stationary, (law / count) / (law / count).sum(), atol=1e-9)


def test_a_solver_with_one_favourite_does_not_reach_all_solutions(record_property: Any) -> None:
    problem = next(p for p in PROBLEMS if p.name == "uneven")
    projection, move = Drop(problem.space, problem.drops[1]), ChangeOne(problem.space)
    kernel = Metropolis(problem.table, projection, move, completion="first")
    matrix = matrix_of(kernel, problem, 1.0)
    reached = float((torch.linalg.matrix_power(matrix, 1024)[0] > 1e-12).double().mean())
    record_property("share_of_solutions_reached_by_a_deterministic_solver", reached)
    print(f"\nmetropolis, always the first completion: reaches {reached:.0%} of S_y")
    assert reached < 1.0


def test_marginals_are_those_of_the_law() -> None:
    for problem in PROBLEMS:
        for gamma in GAMMAS:
            law, states = problem.law(gamma), problem.states
            expected = (law[:, None, None] * torch.nn.functional.one_hot(states, problem.space.width)).sum(0)
            _, step = Exact(problem.ragged).step(Sampler(0), states[:1], problem.target(1, gamma))
            assert step.marginals is not None
            assert torch.allclose(step.marginals[0], expected, atol=TOLERANCE, rtol=0)


def matrix_of(kernel: Kernel, problem: Problem, gamma: float) -> Tensor:
    return transition_matrix(kernel, problem.states, lambda batch: problem.target(batch, gamma), problem.space)


def test_a_large_batch_is_worked_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same marginals and the very same draws."""
    problem = PROBLEMS[0]
    batch = 50
    target = Target.at(problem.belief(batch), problem.program.encode([problem.answer]).expand(batch), 0.7)
    states = problem.states[torch.arange(batch) % len(problem.states)]
    whole = Exact(problem.ragged).step(Sampler(0), states, target)
    monkeypatch.setattr(sets, "PART_ROWS", 7)
    parts = Exact(problem.ragged).step(Sampler(0), states, target)
    assert torch.allclose(parts[1].marginals, whole[1].marginals, atol=1e-15)  # type: ignore[arg-type]
    assert torch.equal(parts[0], whole[0])  # one uniform number per example, in the same order
    assert torch.equal(parts[1].moved, whole[1].moved)
