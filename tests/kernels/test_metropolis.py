"""The paper's kernel, entry by entry: its acceptance and what it does with fibres that a solver gave up on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from exhaustive import transition_matrix
from problems import PROBLEMS, Problem
from softground.dice import Sampler
from softground.inverses import Fibre, Inverse, Start
from softground.kernels import Metropolis
from softground.projections import ChangeOne, Drop, Dropped


def by_hand(problem: Problem, dropped: tuple[int, ...], completion: str, gamma: float) -> Tensor:
    """Algorithm 1: change one kept component, complete it, accept with min(1, (P(z′)/P(z))^{1/γ})."""
    space, states = problem.space, problem.states
    log_p = problem.belief(len(states)).log_prob(states) / gamma
    kept = [site for site in range(space.sites) if site not in dropped]
    matrix = torch.zeros(len(states), len(states), dtype=torch.float64)
    for i, z in enumerate(states):
        for site in kept:
            for code in range(space.sizes[site]):
                changed = z.clone()
                changed[site] = code
                fibre = (states[:, kept] == changed[kept]).all(1).nonzero().flatten().tolist()
                fibre = fibre[:1] if completion == "first" else fibre
                for j in fibre if code != z[site] else ():
                    proposed = 1 / len(kept) / (space.sizes[site] - 1) / len(fibre)
                    matrix[i, j] += proposed * min(1.0, math.exp(log_p[j] - log_p[i]))
    return matrix + torch.diag(1 - matrix.sum(1))


@pytest.mark.parametrize("completion", ["any", "first"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_it_is_algorithm_one(problem: Problem, completion: str) -> None:
    for dropped in problem.drops:
        kernel = Metropolis(problem.table, Drop(problem.space, dropped), ChangeOne(problem.space), completion)  # type: ignore[arg-type]
        matrix = transition_matrix(kernel, problem.states, lambda rows: problem.target(rows, 0.7), problem.space)
        assert torch.allclose(matrix, by_hand(problem, dropped, completion, 0.7), atol=1e-12)


class Partly(Inverse):
    """Never whole; on some rows nothing is found."""

    def __init__(self, inner: Inverse, lost: int) -> None:
        self.inner, self.lost = inner, lost

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        fibre = self.inner.fibre(z, y, dropped)
        found = fibre.mask & (torch.arange(len(z))[:, None] % 3 != self.lost)
        return replace(fibre, mask=found, complete=torch.arange(len(z)) % 2 == 0)

    def start(self, y: Tensor, seed: int) -> Start:
        return self.inner.start(y, seed)


def test_unknown_is_where_nothing_was_found_and_there_may_be_something() -> None:
    problem = PROBLEMS[0]
    inverse = Partly(problem.table, 1)
    kernel = Metropolis(inverse, Drop(problem.space, (0,)), ChangeOne(problem.space))
    z = problem.states[torch.arange(300) % len(problem.states)]
    after, info = kernel.step(Sampler(0), z, problem.target(len(z), 1.0))
    row = torch.arange(len(z))
    lost = row % 3 == 1
    assert torch.equal(after[lost], z[lost])
    assert bool(info.unknown[lost & (row % 2 == 1)].all())
    assert not bool(info.unknown[row % 2 == 0].any())
    assert bool(info.moved[~lost & (row % 2 == 1)].any())  # one completion is enough to move
    assert not bool(info.unknown[info.moved].any())
