"""Kernels on a larger space: draws against exact Q*, with a stated budget for false alarms.

Chains start at one fixed state and run long enough to forget it; with thousands of independent chains the last states
are independent draws, compared with Q* by a χ² test. Each test may fail a right kernel with probability ``ALARM``; over
all tests of this file that is at most ``BUDGET``. Seeds are fixed, so a pass stays a pass.
"""

from __future__ import annotations

import pytest
import torch
from test_kernels_exact import EXACT_KERNELS, broken, kernels

from budget import p_value
from problems import PROBLEMS
from softground.dice import Sampler
from softground.inverses import solutions
from softground.kernels import Collapsed, Composed, Exact, Guided, Kernel, Uniform
from softground.projections import ChangeOne, RandomDrop
from softground.target import Target
from softground.tasks.formulas import formula_task

BUDGET = 1e-4
ALARM = BUDGET / 16  # at most 16 tests of right kernels below
CHAINS = 10_000
STEPS = {"uniform": 60}  # by their matrices, the start is within 1e-5 of forgotten after so many; the others after 30


def small_problem_p_value(kernel: Kernel, gamma: float, steps: int) -> float:
    problem = PROBLEMS[1]
    states = problem.states
    z, dice = states[:1].expand(CHAINS, -1), Sampler(7)
    for _ in range(steps):
        z, _ = kernel.step(dice, z, problem.target(CHAINS, gamma))
    place = {i: row for row, i in enumerate(problem.space.index(states).tolist())}
    counts = torch.zeros(len(states), dtype=torch.float64)
    for index, count in zip(*torch.unique(problem.space.index(z), return_counts=True), strict=True):
        counts[place[int(index)]] += count
    return p_value(counts, problem.law(gamma))


@pytest.mark.parametrize("name", EXACT_KERNELS)
def test_draws_agree_with_the_law(name: str) -> None:
    problem = PROBLEMS[1]
    assert small_problem_p_value(kernels(problem)[name], gamma=0.7, steps=STEPS.get(name, 30)) > ALARM


def test_draws_of_a_broken_kernel_do_not() -> None:
    assert small_problem_p_value(broken(PROBLEMS[1]), gamma=0.7, steps=60) < 1e-12


TASK = formula_task(5)  # 11,664 states, of which S_12 has 218
# After so many steps the start adds less than 0.02 to the expected χ² of 217 degrees of freedom (from the kernels'
# transition matrices, estimated by 6,000 draws from each state).
FORMULA_KERNELS: dict[str, Kernel] = {
    "exact": Exact(TASK.inverse),
    "guided": Composed([Guided(TASK.inverse, RandomDrop(TASK.space, 2))] * 30),
    "collapsed": Composed([Collapsed(TASK.inverse, RandomDrop(TASK.space, 2), ChangeOne(TASK.space))] * 60),
    "uniform": Composed([Uniform(TASK.inverse, RandomDrop(TASK.space, 2), ChangeOne(TASK.space))] * 200),
}


@pytest.mark.parametrize("name", FORMULA_KERNELS)
def test_draws_agree_on_real_formulas(name: str) -> None:
    y = TASK.constraint.encode([12])
    all_states = solutions(TASK.inverse, y).index
    output = torch.randn(1, 5, 13, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    belief = TASK.space.belief(output)
    repeated = belief.rows(torch.zeros(len(all_states), dtype=torch.long))
    law = (repeated.log_prob(TASK.space.states(all_states)) / 0.8).softmax(0)
    chains = 4_000
    target = Target.at(belief.rows(torch.zeros(chains, dtype=torch.long)), y.expand(chains), 0.8)
    start = TASK.space.states(all_states[:1]).expand(chains, -1)
    kernel = FORMULA_KERNELS[name]
    z, _ = kernel.step(Sampler(11), start, target)
    found = torch.searchsorted(all_states, TASK.space.index(z))
    counts = torch.bincount(found, minlength=len(all_states)).double()
    assert p_value(counts, law) > ALARM
