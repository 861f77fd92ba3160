"""What kernels report, and what they do with fibres that are not whole: exactly, over every outcome of a step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from exhaustive import every_path, transition_matrix
from problems import PROBLEMS, Problem
from softground.dice import Dice
from softground.inverses import Fibre, Inverse, Start
from softground.kernels import Collapsed, Composed, Guided, Info, Kernel, Several, Uniform
from softground.kernels.base import redrawn
from softground.projections import ChangeOne, Drop, Dropped, RandomDrop
from softground.target import Target

TOLERANCE = 1e-12


def reporting(problem: Problem) -> dict[str, Kernel]:
    table, move, family = problem.table, ChangeOne(problem.space), RandomDrop(problem.space, problem.drops)
    fixed = Drop(problem.space, problem.drops[0])
    return {
        "guided": Guided(table, family, marginals=True),
        "several": Several(table, family, tries=1, marginals=True),
        "several, nearby": Several(table, fixed, tries=1, marginals=True, reach=1),
        "collapsed": Collapsed(table, family, move, marginals=True),
        "composed": Composed([Uniform(table, fixed, move), Collapsed(table, fixed, move, marginals=True)]),
    }


@pytest.mark.parametrize("gamma", [1.0, 0.4, math.inf])
@pytest.mark.parametrize("name", reporting(PROBLEMS[0]))
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_reported_marginals_have_the_laws_as_their_mean(problem: Problem, name: str, gamma: float) -> None:
    """From Q*, the expected report is Q*'s marginals: what the loss is trained on."""
    states, law = problem.states, problem.law(gamma)
    start, probability, _, info = every_path(reporting(problem)[name], states, lambda n: problem.target(n, gamma))
    assert info.marginals is not None
    assert torch.allclose(info.marginals.sum(-1), torch.ones((), dtype=torch.float64), atol=TOLERANCE)
    found = ((law[start] * probability)[:, None, None] * info.marginals).sum(0)
    expected = (law[:, None, None] * torch.nn.functional.one_hot(states, problem.space.width)).sum(0)
    assert float((found - expected).abs().max()) < TOLERANCE


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_report_fits_the_state_that_the_step_ends_in(problem: Problem) -> None:
    """Kept sites are one-hot at z, and every dropped site gives the symbol drawn some weight."""
    for kernel in reporting(problem).values():
        _, _, after, info = every_path(kernel, problem.states, lambda n: problem.target(n, 0.7))
        assert info.marginals is not None
        assert float(info.marginals.gather(2, after[..., None]).min()) > 0


class Capped(Inverse):
    """A solver that finds the first ``cap`` completions, and says where there are more."""

    def __init__(self, inner: Inverse, cap: int) -> None:
        self.inner, self.cap, self.space, self.constraint = inner, cap, inner.space, inner.constraint

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        fibre = self.inner.fibre(z, y, dropped)
        found = fibre.mask & (fibre.mask.cumsum(-1) <= self.cap)
        return replace(fibre, mask=found, complete=fibre.count <= self.cap)

    def start(self, y: Tensor, seed: int) -> Start:
        return self.inner.start(y, seed)


@pytest.mark.parametrize("gamma", [1.0, math.inf])
@pytest.mark.parametrize("cap", [1, 2])
@pytest.mark.parametrize("name", ["uniform", "collapsed", "guided", "several"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_capped_fibres_leave_the_law_invariant(problem: Problem, name: str, cap: int, gamma: float) -> None:
    inverse, move = Capped(problem.table, cap), ChangeOne(problem.space)
    family = RandomDrop(problem.space, problem.drops)
    kernel: Kernel = {
        "uniform": Uniform(inverse, family, move),
        "collapsed": Collapsed(inverse, family, move, marginals=True),
        "guided": Guided(inverse, family, marginals=True),
        "several": Several(inverse, family, tries=1, marginals=True),
    }[name]
    states, law = problem.states, problem.law(gamma)

    def target(batch: int) -> Target[Any]:
        return problem.target(batch, gamma)

    matrix = transition_matrix(kernel, states, target, problem.space)
    assert float((law @ matrix - law).abs().max()) < TOLERANCE
    start, probability, after, info = every_path(kernel, states, target)
    sets = torch.tensor(problem.drops)
    y = problem.program.encode([problem.answer]).expand(len(states))
    whole = torch.stack([inverse.fibre(states, y, Dropped(s.expand(len(states), -1))).complete for s in sets])
    held = ~whole.any(0)[start]  # whatever is dropped, this state's own fibre is not whole
    assert torch.equal(after[held], states[start[held]])
    assert bool(info.unknown[held].all())
    if info.marginals is not None:
        found = ((law[start] * probability)[:, None, None] * info.marginals).sum(0)
        expected = (law[:, None, None] * torch.nn.functional.one_hot(states, problem.space.width)).sum(0)
        assert float((found - expected).abs().max()) < TOLERANCE


class Reports(Kernel):
    """A kernel that goes nowhere and reports what it was told to."""

    def __init__(self, value: float) -> None:
        self.value = value

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        return z, redrawn(z, z, torch.full((len(z), 1, 1), self.value))


def test_a_composition_reports_the_last_steps_marginals() -> None:
    z = torch.zeros(3, 1, dtype=torch.long)
    _, info = Composed([Reports(1.0), Reports(2.0), Reports(3.0)]).step(None, z, None)  # type: ignore[arg-type]
    assert info.marginals is not None
    assert info.marginals.unique().tolist() == [3.0]
