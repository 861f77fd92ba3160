"""The usual parts of rules: which states they hold of (their laws are in test_sets), and a permanent."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import softground as sg
from softground.inverses import default_inverse
from softground.target import Target

SPACE = sg.Categorical([(-2, 0, 1, 3), (0, 1, 3), (0, 1, 2, 3, 4)])
SITES = [0, 1, 2]
STATES = SPACE.states(torch.arange(SPACE.size))
SYMBOLS = torch.tensor(SPACE.decode(STATES))
A, B, C = SYMBOLS.T
CASES: dict[str, tuple[Any, Any, Tensor]] = {  # a piece, its answer and its S_y
    "sum": (sg.Sum(SITES), 4, SYMBOLS.sum(1) == 4),
    "sum in a range": (sg.Sum(SITES), sg.Between(2, 5), (SYMBOLS.sum(1) >= 2) & (SYMBOLS.sum(1) <= 5)),
    "sum that is not": (sg.Sum(SITES), sg.Not(4), SYMBOLS.sum(1) != 4),
    "count": (sg.Count(SITES, {1, 3}), 1, ((SYMBOLS == 1) | (SYMBOLS == 3)).sum(1) == 1),
    "value": (sg.Value(SITES, lambda a, b, c: a * b - c), -2, A * B - C == -2),
    "all different": (sg.AllDifferent(SITES), True, (A != B) & (A != C) & (B != C)),
    "increasing": (sg.Increasing(SITES), True, (A < B) & (B < C)),
    "not decreasing": (sg.Increasing(SITES, strict=False), True, (A <= B) & (B <= C)),
    "allowed": (
        sg.Allowed(SITES, [(0, 0, 0), (3, 1, 4), (3, 1, 2), (-2, 3, 4)]),
        True,
        ((A == 0) & (B == 0) & (C == 0))
        | ((A == 3) & (B == 1) & (C % 2 == 0) & (C > 0))
        | ((A == -2) & (B == 3) & (C == 4)),
    ),
    "clause": (sg.Clause({0: 3, 1: 0, 2: 2}), True, (A == 3) | (B == 0) | (C == 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_they_hold_of_what_they_say(name: str) -> None:
    piece, answer, holds = CASES[name]
    rule = piece.rule(SPACE)
    assert torch.equal(rule.feasible(STATES, rule.encode([answer] * len(STATES))), holds)
    assert 0 < int(holds.sum()) < len(STATES)


def test_nine_different_digits_are_a_permanent() -> None:
    """Against Ryser's formula; with equal weights it is 9! of 9⁹."""
    space = sg.Categorical([range(9)] * 9)
    rule = sg.AllDifferent(range(9)).rule(space)
    inverse, y = default_inverse(rule, space), rule.encode([True] * 2)
    output = torch.randn(2, 9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = space.belief(torch.stack([output[0], torch.zeros(9, 9)]))
    matrix = weights.scores.exp()
    subsets = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 9)
    ryser = ((-1) ** (9 - subsets.sum(1)) * (matrix @ subsets.T).prod(1)).sum(1)
    assert torch.allclose(inverse.law(Target(weights, y, 1.0)).log_mass().exp(), ryser, rtol=1e-9)
    assert torch.allclose(ryser[1], torch.tensor(362880 / 9**9, dtype=torch.float64))
    drawn = inverse.law(Target(weights, y, 1.0)).draw(sg.dice.Sampler(0))
    assert drawn.sort(1).values.tolist() == [list(range(9))] * 2
