"""Several tries at once: every entry of the transition matrix, and a planted bug."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from exhaustive import transition_matrix
from problems import PROBLEMS, Problem
from softground.dice import Sampler
from softground.errors import LearnerError
from softground.inverses import Fibre, Table
from softground.kernels import Kernel, Several
from softground.projections import Drop, Dropped

GAMMA = 0.7


def by_hand(problem: Problem, dropped: tuple[int, ...], tries: int) -> Tensor:
    """Σ over all candidates of their probability times the share of each state among all completions of theirs."""
    space, states = problem.space, problem.states
    weight = problem.belief(1).tempered(GAMMA).scores[0].exp()
    kept = [site for site in range(space.sites) if site not in dropped]
    w_v = torch.stack([weight[site][states[:, site]] for site in dropped]).prod(0)
    us = list(product(*(range(space.sizes[site]) for site in kept)))
    chance = torch.tensor([math.prod(float(weight[s][c]) for s, c in zip(kept, u, strict=True)) for u in us])
    chance = chance.double() / chance.double().sum()
    own = (states[:, None, kept] == torch.tensor(us)).all(-1).double()  # [states, us]
    fibre = own.T * w_v  # [us, states]
    matrix = torch.zeros(len(states), len(states), dtype=torch.float64)
    for drawn in product(range(len(us)), repeat=tries):
        union = fibre[list(drawn)].sum(0) + own @ fibre
        matrix += chance[list(drawn)].prod() * union / union.sum(1, keepdim=True)
    return matrix


def matrix_of(kernel: Kernel, problem: Problem) -> Tensor:
    return transition_matrix(kernel, problem.states, lambda rows: problem.target(rows, GAMMA), problem.space)


@pytest.mark.parametrize("tries", [1, 2])
def test_every_entry_is_as_documented(tries: int) -> None:
    problem = PROBLEMS[0]
    kernel = Several(problem.table, Drop(problem.space, problem.drops[0]), tries, reach=0)
    assert torch.allclose(matrix_of(kernel, problem), by_hand(problem, problem.drops[0], tries), atol=1e-6)


class Forgetful(Table):
    """Forgets the fibre of the chain's own u, the first candidate, where another candidate has one."""

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        fibre = super().fibre(z, y, dropped)
        mask = fibre.mask.view(-1, 2, fibre.mask.shape[1]).clone()
        mask[:, 0] &= ~mask[:, 1].any(1, keepdim=True)
        return replace(fibre, mask=mask.view_as(fibre.mask))


def test_a_kernel_that_forgets_its_own_state_is_caught() -> None:
    problem = PROBLEMS[1]
    projection, law = Drop(problem.space, problem.drops[0]), problem.law(GAMMA)
    for inverse, right in ((problem.table, True), (Forgetful(problem.program), False)):
        matrix = matrix_of(Several(inverse, projection, tries=1), problem)
        assert (float((law @ matrix - law).abs().max()) < 1e-12) is right


def test_half_of_the_steps_keep_what_is_far_away() -> None:
    """In one step of a nearby proposal, the site that is out of reach stays."""
    problem = PROBLEMS[0]
    kernel = Several(problem.table, Drop(problem.space, (0,)), 1, reach=1)
    near = matrix_of(kernel, problem) - 0.5 * matrix_of(replace(kernel, reach=0), problem)
    far = problem.states[:, None, 2] != problem.states[None, :, 2]
    assert torch.allclose(near.sum(1), torch.tensor(0.5).double())
    assert float(near[far].abs().max()) < 1e-12 < float(near[~far].abs().min())


def test_marginals_are_as_wide_as_the_alphabet_whatever_the_chain_shows() -> None:
    problem = PROBLEMS[0]  # digits from 0 to 3, of which this chain shows none of the largest
    kernel = Several(problem.table, Drop(problem.space, problem.drops[0]), marginals=True)
    _, info = kernel.step(Sampler(0), torch.tensor([[1, 2, 2]]), problem.target(1, GAMMA))
    assert info.marginals is not None
    assert info.marginals.shape == (1, 3, 4)


def test_no_tries_are_refused() -> None:
    problem = PROBLEMS[0]
    with pytest.raises(LearnerError, match="tries=0 was given; expected 1 or more"):
        Several(problem.table, Drop(problem.space, problem.drops[0]), 0)
