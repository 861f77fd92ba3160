"""Linear rules between reals: what they mean, what they refuse, and that networks learn from them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import softground as sg
from softground.errors import ConstraintError
from softground.reals import Conditional, Equations, HitAndRun, Interior
from softground.target import Target

SPACE = sg.Gaussian(3, sigma=0.1)
STATES = torch.randn(500, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        (lambda z, y: z[0] <= z[1], 0),
        (lambda z, y: [z[a] < z[b] for a, b in pairwise(y)], (2, 0, 1)),
        (lambda z, y: [y[0] <= z[0] - z[2], 2 * z[0] / 3 - y[1] < z[1], y[1] > -z[2]], (-0.5, np.float64(0.7))),
        (lambda z, y: (sum(z) >= y, 1 - z[1] >= np.float64(0.2) * z[0]), -0.3),
        (lambda z, y: [z[0] <= math.inf, z[1] >= y[0]], torch.tensor([0.1, 3.0])),
        (lambda z, y: [z[0] >= y, -z[0] >= -1.0], 0.2),  # two bounds of one row
    ],
)
def test_feasible_is_the_definition(rule: Any, answer: Any) -> None:
    linear = sg.LinearRule(rule, SPACE)
    y = linear.encode([answer] * len(STATES))
    plain = answer.tolist() if isinstance(answer, torch.Tensor) else answer
    found = [rule(z, plain) for z in STATES.tolist()]  # the same comparisons of plain numbers
    truth = [all(row) if isinstance(row, list | tuple) else row for row in found]
    assert 0 < sum(truth) < len(truth)
    assert linear.feasible(STATES, y).tolist() == truth


def test_equations_hold_within_the_tolerance_and_inequalities_as_they_are() -> None:
    rule = sg.LinearRule(lambda z, y: [sum(z) == y, z[0] <= z[1]], SPACE)
    z = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.09], [1.0, 2.0, 3.2], [2.0, 1.99, 2.01]])
    assert rule.feasible(z, rule.encode([6.0] * 4)).tolist() == [True, True, False, False]
    assert rule.feasible(z, rule.encode([None] * 4)).all()  # nothing is known


def test_equal_answers_have_equal_codes_and_later_ones_may_have_more_rows() -> None:
    rule = sg.LinearRule(lambda z, y: [z[i] >= b for i, b in enumerate(y)], SPACE)
    first = rule.encode([(0.5,), [0.5]])
    assert first.tolist() == [0, 0]
    later = rule.encode([(0.0, 0.0, 0.0), {}, (0.5,)])
    assert later.tolist() == [1, 2, 0]
    assert rule.answer(later[0]) == (0.0, 0.0, 0.0)
    z = torch.tensor([[0.6, -1.0, 0.0]] * 2)
    assert rule.feasible(z, torch.stack([first[0], later[0]])).tolist() == [True, False]


def test_bounds_that_meet_are_an_equation() -> None:
    rule = sg.LinearRule(lambda z, y: [z[0] >= y[0], z[0] <= y[1]], SPACE)
    start = Interior(rule).start(rule.encode([(2.0, 2.0), (1.0, 3.0)]), 0)
    assert start.found.all()
    assert float(start.z[0, 0]) == pytest.approx(2.0, abs=1e-12)


def test_equations_alone_have_the_law_of_equations() -> None:
    rule, closed = sg.LinearRule(lambda z, y: sum(z) == y, SPACE), Equations([[1, 1, 1]], SPACE)
    belief = SPACE.belief(STATES[:5])
    near = Interior(rule).most_probable(Target(belief, rule.encode([1.0] * 5), 1.0))
    assert torch.allclose(near, Conditional(closed).law(Target(belief, closed.encode([1.0] * 5), 1.0)).marginals())
    assert isinstance(sg.recommend(sg.Task(SPACE, rule), [1.0]).kernel, HitAndRun)
    assert isinstance(sg.recommend(sg.Task(SPACE, closed), [1.0]).kernel, sg.Exact)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda z, y: 0.0 <= z[0] <= y, r"Example 0: .*used as true or false.*\[low <= z\[0\], z\[0\] <= high\]"),
        (lambda z, y: min(z) >= y, "used as true or false"),
        (lambda z, y: z[0] * z[1] == y, "Real symbols were combined with Affine"),
        (lambda z, y: z[0] <= None, "combined with None"),
        (lambda z, y: z[0] != y, "compared by !="),
        (lambda z, y: z[0], r"Example 0, answer 1\.0: the rule returned Affine.*expected comparisons"),
        (lambda z, y: True, "returned True; expected comparisons"),
        (lambda z, y: z[0] <= math.nan, "expected comparisons"),
        (lambda z, y: math.inf * z[0] <= y, "expected comparisons"),
        (lambda z, y: z[0] >= math.inf, "low=inf.*expected comparisons"),
    ],
)
def test_rules_that_are_not_linear_are_refused(rule: Any, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        sg.LinearRule(rule, SPACE).encode([1.0])


def test_wrong_spaces_tolerances_and_answers() -> None:
    with pytest.raises(ConstraintError, match=r"The answer \{1\} was given"):
        sg.LinearRule(lambda z, y: z[0] <= 1, SPACE).encode([{1}])
    with pytest.raises(ConstraintError, match="expected a Gaussian space"):
        sg.LinearRule(lambda z, y: z[0] <= y, sg.Categorical([range(3)]))  # type: ignore[arg-type]
    with pytest.raises(ConstraintError, match="tolerance=0"):
        sg.LinearRule(lambda z, y: z[0] <= y, SPACE, tolerance=0.0)


def fitted(rule: sg.LinearRule, x: torch.Tensor, answers: list[Any], epochs: int) -> torch.Tensor:
    """The readings of one linear network for all sites, trained by the rule."""
    task = sg.Task(rule.space, rule)
    with sg.seeded(0):
        network = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten())
    stages = sg.grounding_stages(task, epochs=epochs, optimizer=lambda p: torch.optim.Adam(p, lr=0.1))
    sg.Learner(task, network, stages, batch_size=16).fit(sg.Examples(x, answers))
    return network(x).detach()


def test_a_network_learns_from_orders() -> None:
    x = torch.rand(256, 3, 2, generator=torch.Generator().manual_seed(0))
    readings = x @ torch.tensor([3.0, -1.0])
    rule = sg.LinearRule(lambda z, y: [z[b] - z[a] >= 0.1 for a, b in pairwise(y)], SPACE)
    found = fitted(rule, x, readings.argsort(1).tolist(), epochs=4)
    assert stats.spearmanr(found.flatten(), readings.flatten()).statistic > 0.99


def test_a_network_learns_from_ranges() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(256, 3, 2, generator=generator)
    readings = x @ torch.tensor([3.0, -1.0])
    low = readings - torch.rand(256, 3, generator=generator)
    rule = sg.LinearRule(lambda z, y: [c for a, z_i in zip(y, z, strict=True) for c in (z_i >= a, z_i <= a + 1)], SPACE)
    found = fitted(rule, x, low.tolist(), epochs=10)
    assert float((found - readings).abs().max()) < 0.25  # of ranges as wide as 1


def test_a_rule_that_fails_names_the_example_and_the_answer() -> None:
    with pytest.raises(ConstraintError, match=r"Example 0: The rule failed for the answer 1.0: IndexError"):
        sg.LinearRule(lambda z, y: z[7] <= y, SPACE).encode([1.0])
