"""Symbols and reals in one rule: the law against integration, case by case, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from scipy import integrate, stats
from torch import Tensor, nn

import softground as sg
from softground.dice import Sampler
from softground.errors import ConstraintError, SpaceError
from softground.reals import ByCase, Gaussian, Mixed, MixedRule
from softground.spaces import Categorical
from softground.target import Target

FALSE_ALARM = 1e-6  # of the test of draws, on correct code
SIGMA = 0.7
SPACE = Mixed(Categorical(["abc", (1, 2)]), Gaussian(2, sigma=SIGMA))
OUTPUT = torch.tensor([[0.3, -1.0, 0.5, 0, 0, 0, 0, 0, 0.2, 1.1, 0.4, -0.8]], dtype=torch.float64)
GAIN = {"a": 1.0, "b": -2.0, "c": 0.5}


def weigh(s: list[Any], r: list[Any]) -> Any:
    """Offsets, coefficients and which combinations can be depend on the symbols."""
    return None if s == ["c", 2] else r[0] + GAIN[s[0]] * r[1] + 3 * s[1]


def rule(**given: float) -> MixedRule:
    return MixedRule(weigh, SPACE, **given)


def target(gamma: float = 1.0, rows: int = 1, answer: float = 4.0) -> Target[Any]:
    output = OUTPUT.expand(rows, -1).clone().requires_grad_()
    return Target.at(SPACE.belief(output), rule().encode([answer] * rows), gamma)


def integrated(gamma: float, answer: float) -> tuple[list[tuple[tuple[str, int], float]], list[Tensor]]:
    """Of each case the mass of y, and mass times mean of the reals, by integration over the second real."""
    belief, deviation = SPACE.belief(OUTPUT), math.sqrt(gamma) * SIGMA
    first, second = (stats.norm(float(f), deviation) for f in belief.reals.mean[0])
    masses, means = [], []
    for code, (letter, number) in enumerate(SPACE.symbols.decode(SPACE.symbols.states(torch.arange(6)))):
        if (letter, number) == ("c", 2):
            continue
        codes = SPACE.symbols.states(torch.tensor([code]))
        prior = math.exp(float(belief.symbols.log_prob(codes)) / gamma)

        def rest(t: float, letter: Any = letter, number: Any = number) -> float:
            return answer - 3 * number - GAIN[letter] * t

        def part(weight: Any, rest: Any = rest) -> float:
            return float(
                integrate.quad(
                    lambda t: weight(t) * first.pdf(rest(t)) * second.pdf(t), -40, 40, limit=400, points=[-5, 0, 5]
                )[0]
            )

        masses.append(((letter, number), prior * part(lambda t: 1.0)))
        means.append(prior * torch.tensor([part(rest), part(lambda t: t)], dtype=torch.float64))
    return masses, means


@pytest.mark.parametrize("gamma", [1.0, 0.4])
def test_the_law_is_that_of_integration(gamma: float) -> None:
    masses, means = integrated(gamma, 4.0)
    total, at = sum(mass for _, mass in masses), target(gamma)
    law = ByCase(rule()).law(at)
    assert law.log_mass().item() == pytest.approx(math.log(total), abs=1e-8)
    letters, numbers = law.marginals()[0, :6].view(2, 3), law.marginals()[0, 6:]
    for place, symbol in enumerate("abc"):
        share = sum(mass for (letter, _), mass in masses if letter == symbol) / total
        assert letters[0, place].item() == pytest.approx(share, abs=1e-8)
    assert letters[1, 0].item() == pytest.approx(sum(m for (_, number), m in masses if number == 1) / total, abs=1e-8)
    assert torch.allclose(numbers, sum(means) / total, atol=1e-8)
    # The gradient of the log-mass is that of the expected log P at the marginals: what learns.
    (gradient,) = torch.autograd.grad(law.log_mass().sum(), at.weights.reals.mean, retain_graph=True)
    assert torch.allclose(gradient, (numbers - at.weights.reals.mean) / (gamma * SIGMA**2), atol=1e-6)


def test_the_mode_is_that_of_a_search() -> None:
    at, t = target(), torch.linspace(-8, 8, 40_001, dtype=torch.float64)
    best = -math.inf
    for codes in rule().codes:
        letter, number = SPACE.symbols.decode(codes[None])[0]
        r = torch.stack([4.0 - 3 * number - GAIN[letter] * t, t], 1)
        z = torch.cat([codes.double().expand(len(t), -1), r], 1)
        best = max(best, at.weights.rows(torch.zeros(len(t), dtype=torch.long)).log_prob(z).max().item())
    mode = ByCase(rule()).law(at).mode()
    assert rule(tolerance=1e-4).feasible(mode, at.answers).all()
    assert at.log_weight(mode).item() == pytest.approx(best, abs=1e-5)


def test_draws_have_the_law() -> None:
    count = 10_000
    law, one = ByCase(rule()).law(target(rows=count)), ByCase(rule()).law(target())
    z = law.draw(Sampler(0))
    assert rule(tolerance=1e-4).feasible(z, target(rows=count).answers).all()
    share = one._log_weights.softmax(-1)[0]
    case = rule().case[SPACE.symbols.index(SPACE.split(z)[0])]
    seen = torch.bincount(case, minlength=5).double()
    assert stats.chisquare(seen.numpy(), (share * count).detach().numpy()).pvalue > FALSE_ALARM
    most = int(share.argmax())
    r, mean, matrix = z[case == most][:, 2:], one._means[0, most], rule().matrix[most]
    covariance = SIGMA**2 * (torch.eye(2, dtype=torch.float64) - torch.linalg.pinv(matrix) @ matrix)
    score = (r.mean(0) - mean) / (covariance.diag() / len(r)).sqrt()
    assert score.abs().max().item() < stats.norm.isf(FALSE_ALARM / 4)
    assert torch.allclose(torch.cov(r.T), covariance, atol=0.05)


def test_feasible_and_compute_are_the_definition() -> None:
    z = SPACE.encode([("a", 1, 2.0, 3.0), ("b", 2, 2.0, 3.0), ("c", 2, 0.0, 0.0)])
    assert rule().compute(z) == [8.0, 2.0, None]
    assert rule().admissible(z).tolist() == [True, True, False]
    assert rule(tolerance=0.1).feasible(z, rule().encode([8.05, 2.2, 6.0])).tolist() == [True, False, False]


def test_completions_of_symbols_and_reals() -> None:
    inverse, y = ByCase(rule()), rule().encode([8.0])
    z = SPACE.encode([("a", 1, 2.0, 3.0)])
    symbols = inverse.fibre(z, y, sg.Dropped(torch.tensor([[0, 1]])))
    assert symbols.values[symbols.mask].tolist() == [[0.0, 0.0]]  # 2 + 3 + 3; no other letter or number gives 8
    assert symbols.complete.tolist() == [True]
    both = inverse.fibre(z, y, sg.Dropped(torch.tensor([[1, 2]])))
    assert both.values[both.mask].tolist() == [[0.0, 2.0], [1.0, -1.0]]
    assert both.complete.tolist() == [True]
    many = inverse.fibre(z, y, sg.Dropped(torch.tensor([[2, 3]])))
    assert (int(many.count), many.complete.tolist()) == (1, [False])


def test_a_digit_and_a_reading_are_learnt_from_their_sum() -> None:
    """Four digits, and a dial that shows a fraction: the sum tells both, and neither is ever labelled."""
    space = Mixed(Categorical([range(4)]), Gaussian(1, sigma=0.1))
    task = sg.Task(space, MixedRule(lambda s, r: s[0] + r[0], space), metrics=space.figures)
    generator = torch.Generator().manual_seed(0)
    digit = torch.randint(4, (160,), generator=generator)
    dial = 0.6 * torch.rand(160, generator=generator, dtype=torch.float64)
    x = torch.cat([torch.eye(4)[digit], dial[:, None].float()], 1)
    z = torch.stack([digit.double(), dial], 1)
    examples = sg.Examples(x, (digit + dial).tolist(), symbols=z)
    with sg.seeded(0):
        network = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5))
    stages = sg.grounding_stages(task, epochs=25, optimizer=lambda p: torch.optim.Adam(p, lr=0.02))
    learner = sg.Learner(task, network, stages, batch_size=40).fit(examples)
    found = learner.evaluate(examples)
    assert found["symbol_accuracy"] > 0.95
    assert found["error"] < 0.1
    assert {type(v) for v in learner.predict(examples.x[:1])[0]} == {int, float}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda s, r: 3 * s[1], r"returned 3 for the symbols \('a', 1\)"),
        (lambda s, r: r[0] if s[1] == 1 else [r[0], r[1]], r"gave \[1, 2\] numbers of equations"),
        (lambda s, r: r[0] - r[0] if s == ["b", 2] else r[0], r"With the symbols \('b', 2\) the equations depend"),
        (lambda s, r: None, r"gave \[\] numbers"),
        (lambda s, r: r[0] * math.nan, "no number"),
    ],
)
def test_rules_that_cannot_work(given: Any, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        MixedRule(given, SPACE)


def test_spaces_tolerances_and_answers_that_cannot_be() -> None:
    with pytest.raises(SpaceError, match="then a Gaussian one"):
        Mixed(Gaussian(2), Gaussian(2))  # type: ignore[arg-type]
    with pytest.raises(ConstraintError, match="expected a Mixed space"):
        MixedRule(weigh, Gaussian(2))  # type: ignore[arg-type]
    with pytest.raises(ConstraintError, match="at most 65,536 combinations"):
        MixedRule(weigh, Mixed(Categorical([range(10)] * 5), Gaussian(2)))
    with pytest.raises(ConstraintError, match="tolerance=0"):
        rule(tolerance=0.0)
    with pytest.raises(ConstraintError, match=r"Example 1: .*expected 1 finite"):
        rule().encode([1.0, math.inf])


def test_a_rule_that_fails_names_the_symbols() -> None:
    space = Mixed(Categorical([range(3)]), Gaussian(1, sigma=0.2))
    with pytest.raises(ConstraintError, match=r"The rule failed for the symbols \(0,\): IndexError"):
        MixedRule(lambda symbols, reals: symbols[7] + reals[0], space)
