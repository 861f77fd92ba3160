"""The laws of the usual parts of rules against brute force: mass, gradient, marginals, draws, mode; and extremes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

import softground as sg
from exhaustive import every_draw
from softground.errors import InfeasibleAnswer
from softground.inverses import default_inverse
from softground.spaces import CategoricalBelief
from softground.target import Target

TOLERANCE = 1e-12
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


def law_of(name: str, scores: Tensor) -> Any:
    piece, answer, _ = CASES[name]
    rule = piece.rule(SPACE)
    y = rule.encode([answer] * len(scores))
    return default_inverse(rule, SPACE).law(Target(CategoricalBelief(SPACE, scores), y, 1.0))


def random_scores(batch: int, *scale: float) -> Tensor:
    output = torch.tensor(scale)[:, None, None] * torch.randn(
        batch, 3, 5, generator=torch.Generator().manual_seed(7), dtype=torch.float64
    )
    allowed = SPACE.layout(output.device).allowed
    return output.masked_fill(~allowed, -torch.inf).log_softmax(-1)


@pytest.mark.parametrize("name", CASES)
def test_the_law_is_that_of_brute_force(name: str) -> None:
    """Also where the network is so sure of something else that no double holds the probability of S_y."""
    sure = torch.zeros(3, 3, 5)
    sure[2] = 3000 * one_hot(STATES[~CASES[name][2]][0], 5)
    scores = (random_scores(3, 1.0, 300.0, 300.0) + sure).log_softmax(-1).requires_grad_()
    law, states = law_of(name, scores), STATES[CASES[name][2]]
    mass, marginals, mode = law.log_mass(), law.marginals(), law.mode()
    (gradient,) = torch.autograd.grad(mass.sum(), scores)
    for row in range(3):
        log_weight = scores[row, torch.arange(3), states].sum(1).detach()
        q = log_weight.softmax(0)
        assert torch.allclose(mass[row], log_weight.logsumexp(0), rtol=TOLERANCE, atol=TOLERANCE)
        expected = (q[:, None, None] * one_hot(states, SPACE.width)).sum(0)
        assert torch.allclose(marginals[row], expected, atol=1e-9)
        assert torch.allclose(gradient[row], expected, atol=1e-9)
        assert torch.equal(mode[row], states[log_weight.argmax()])
    assert float(mass[2].detach()) < -1000


@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_law(name: str) -> None:
    piece, answer, holds = CASES[name]
    rule, states, scores = piece.rule(SPACE), STATES[CASES[name][2]], random_scores(1, 1.0)
    q = scores[0, torch.arange(3), states].sum(1).softmax(0)
    for probability, z in every_draw(
        default_inverse(rule, SPACE), CategoricalBelief(SPACE, scores), rule.encode([answer])
    ):
        (place,) = (states == z).all(1).nonzero().flatten()
        q[place] -= probability
    assert float(q.abs().max()) < TOLERANCE
    assert 0 < int(holds.sum()) < len(STATES)


@pytest.mark.parametrize("name", CASES)
def test_what_has_no_mass_leaves_the_others_alone(name: str) -> None:
    """Known symbols may leave nothing of S_y: −∞, while the other rows have finite gradients."""
    _, _, holds = CASES[name]
    outside = STATES[~holds][0]
    scores = random_scores(2, 1.0)
    scores = torch.stack([scores[0], scores[1].masked_fill(one_hot(outside, 5) == 0, -torch.inf)]).requires_grad_()
    mass = law_of(name, scores).log_mass()
    assert torch.isneginf(mass).tolist() == [False, True]
    (gradient,) = torch.autograd.grad(mass[0], scores)
    assert bool(gradient.isfinite().all())
    assert not bool(gradient[1].any())


def test_an_answer_that_no_symbols_have() -> None:
    rule = sg.Sum(SITES).rule(SPACE)
    law = default_inverse(rule, SPACE).law(
        Target(CategoricalBelief(SPACE, random_scores(2, 1.0)), rule.encode([4, 99]), 1.0)
    )
    assert torch.isneginf(law.log_mass()).tolist() == [False, True]
    with pytest.raises(InfeasibleAnswer) as caught:
        law.marginals()
    assert caught.value.examples == (1,)


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
    drawn = inverse.law(Target(weights, y, 1.0)).draw(sg.Sampler(0))
    assert drawn.sort(1).values.tolist() == [list(range(9))] * 2
