"""Proposition 1's numbers: matrices are what they are by hand, and distances what they must be."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from papers.li2023.proposition import distances, laws, score_gradients
from problems import PROBLEMS, Problem
from softground.dice import Dice
from softground.errors import SoftgroundError
from softground.kernels import Collapsed, Info, Kernel, Metropolis
from softground.kernels.base import info
from softground.projections import ChangeOne, Drop, Dropped
from softground.spaces import Categorical, CategoricalBelief
from softground.target import Target
from tools.outcomes import Replay, transition_matrix


def kernels(problem: Problem, which: int = 0) -> list[Kernel]:
    drop, move = Drop(problem.space, problem.drops[which]), ChangeOne(problem.space)
    return [Metropolis(problem.table, drop, move), Collapsed(problem.table, drop, move)]


class Lazy(Kernel):
    """One site of three symbols: one step up with 0.8, else one down; the move is made with probability 1/2."""

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        up = dice.categorical(torch.tensor([[0.2, 0.8]]).log().expand(len(z), -1))
        accepted = dice.accept(torch.full((len(z),), 0.5).log())
        after = torch.where(accepted[:, None], (z + 2 * up[:, None] - 1) % 3, z)
        return after, info(z, after, accepted, ~accepted)


def test_the_matrix_is_the_one_computed_by_hand() -> None:
    space = Categorical([range(3)])
    found = transition_matrix(Lazy(), space.states(torch.arange(3)), lambda rows: None, space)  # type: ignore[arg-type]
    by_hand = [[0.5, 0.4, 0.1], [0.1, 0.5, 0.4], [0.4, 0.1, 0.5]]
    assert torch.allclose(found, torch.tensor(by_hand, dtype=torch.float64), atol=1e-7)


def test_states_that_are_not_all_of_them_are_refused() -> None:
    problem = PROBLEMS[0]
    with pytest.raises(SoftgroundError, match="all of S_y"):
        transition_matrix(kernels(problem)[1], problem.states[:2], lambda r: problem.target(r, 1.0), problem.space)
    with pytest.raises(SoftgroundError, match="reals"):
        Replay(torch.zeros(1, 0, dtype=torch.long)).uniform(1)


def test_an_exact_kernel_reaches_the_law_and_the_papers_does_not() -> None:
    problem = next(p for p in PROBLEMS if p.name == "uneven")
    y = problem.program.encode([problem.answer])
    found = []
    for kernel in kernels(problem, which=1):  # one projection's fibres differ in size
        rows = distances(kernel, problem.states, problem.belief(1), y, 1.0)
        assert [row["steps"] for row in rows] == [1, 10, 100, 1000, 2**20]
        assert all(0 <= row["distance"] <= row["worst"] <= 1 for row in rows)
        found.append(rows[-1])
    # The paper's stationary law is Q* over the size of the fibre.
    drop = torch.tensor([problem.drops[1]]).expand(len(problem.states), -1)
    law = problem.law(1.0)
    biased = law / problem.table.fibre(problem.states, y.expand(len(problem.states)), Dropped(drop)).count
    error = biased / biased.sum() - law
    assert found[0]["distance"] == pytest.approx(float(error.abs().sum() / 2), abs=1e-9)
    assert found[0]["distance"] > 0.02
    bias = (error @ score_gradients(problem.belief(1), problem.states)).norm()
    assert found[0]["bias"] == pytest.approx(float(bias), abs=1e-9)
    assert found[1]["distance"] < 1e-9
    assert found[1]["bias"] < 1e-8


def test_gradients_are_autograds() -> None:
    problem = PROBLEMS[1]
    states = problem.states
    output = torch.randn(1, problem.space.sites, problem.space.width, dtype=torch.float64, requires_grad=True)
    layout = problem.space.layout(output.device)
    masked = output.masked_fill(~layout.allowed, -torch.inf)
    belief = CategoricalBelief(problem.space, masked.log_softmax(-1))
    rows = score_gradients(belief.detach(), states)
    for state, gradient in zip(states, rows, strict=True):
        (wanted,) = torch.autograd.grad(belief.log_prob(state[None]).sum(), output, retain_graph=True)
        assert torch.allclose(gradient, wanted.flatten(), atol=1e-12)


def test_a_cell_covers_kernels_temperatures_and_projections() -> None:
    found = laws(3, seed=0)
    assert found == laws(3, seed=0)
    assert found["states"] >= 16
    assert {row["kernel"] for row in found["rows"]} == {"metropolis", "first", "collapsed"}
    assert {row["dropped"] for row in found["rows"]} == {1, 2, 3, 4}
    most = [r for r in found["rows"] if r["kernel"] == "collapsed" and r["dropped"] == 4 and r["steps"] == 1000]
    assert max(row["distance"] for row in most) < 1e-6
