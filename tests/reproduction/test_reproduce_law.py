"""Proposition 1's numbers: the matrix is the one the tests trust, and distances are what they must be."""

from __future__ import annotations

import pytest
import torch

from exhaustive import transition_matrix as trusted
from problems import PROBLEMS, Problem
from softground.errors import SoftgroundError
from softground.kernels import Collapsed, Exact, Kernel, Metropolis
from softground.projections import ChangeOne, Drop, Dropped
from softground.reproduction.outcomes import Outcomes, transition_matrix
from softground.reproduction.proposition import distances, laws, score_gradients
from softground.spaces import CategoricalBelief


def kernels(problem: Problem, which: int = 0) -> list[Kernel]:
    drop, move = Drop(problem.space, problem.drops[which]), ChangeOne(problem.space)
    return [Metropolis(problem.table, drop, move), Collapsed(problem.table, drop, move)]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_matrix_is_that_of_the_tests(problem: Problem) -> None:
    for kernel in kernels(problem):
        arguments = (problem.states, lambda rows: problem.target(rows, 0.5), problem.space)
        assert torch.allclose(transition_matrix(kernel, *arguments), trusted(kernel, *arguments), atol=1e-14)


def test_states_that_are_not_all_of_them_are_refused() -> None:
    problem = PROBLEMS[0]
    with pytest.raises(SoftgroundError, match="all of S_y"):
        transition_matrix(kernels(problem)[1], problem.states[:2], lambda r: problem.target(r, 1.0), problem.space)
    with pytest.raises(SoftgroundError, match="reals"):
        Outcomes(torch.zeros(1, 0, dtype=torch.long)).uniform(1)
    exact = Exact(problem.ragged)
    with pytest.raises(SoftgroundError, match="ragged"):
        transition_matrix(exact, problem.states, lambda r: problem.target(r, 1.0), problem.space)


def test_an_exact_kernel_reaches_the_law_and_the_papers_does_not() -> None:
    problem = next(p for p in PROBLEMS if p.name == "uneven")
    y = problem.program.encode([problem.answer])
    found = []
    for kernel in kernels(problem, which=1):  # one projection's fibres differ in size
        rows = distances(kernel, problem.states, problem.belief(1), y, 1.0)
        assert [row["steps"] for row in rows] == [1, 10, 100, 1000, 2**20]
        assert all(0 <= row["distance"] <= row["worst"] <= 1 for row in rows)
        assert all(row["bias"] <= row["bound"] + 1e-9 for row in rows)
        found.append(rows[-1]["distance"])
    # The paper's stationary law is Q* over the size of the fibre.
    drop = torch.tensor([problem.drops[1]]).expand(len(problem.states), -1)
    law = problem.law(1.0)
    biased = law / problem.table.fibre(problem.states, y.expand(len(problem.states)), Dropped(drop)).count
    assert found[0] == pytest.approx(float((biased / biased.sum() - law).abs().sum() / 2), abs=1e-9)
    assert found[0] > 0.02
    assert found[1] < 1e-9


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
