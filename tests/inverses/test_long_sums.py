"""The law of long sums by a tree of convolutions, against the recursion site by site and against brute force."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest
import torch
from torch import Tensor

from softground import Categorical, Scan
from softground.constraints.scan import long_sums, messages
from softground.constraints.scan.long_sums import Convolved, Totals, convolve
from softground.constraints.scan.messages import OneByOne
from softground.dice import Sampler
from softground.inverses import Scanned
from softground.inverses.records import RECORDED, record
from softground.target import Target
from softground.task import Task
from softground.tasks.addition import addition_task
from softground.tasks.sums import sums_task

CPU = torch.device("cpu")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums count as long that are short enough for brute force, and a site is looked at first."""
    monkeypatch.setattr(long_sums, "LARGE", 0)
    monkeypatch.setattr(long_sums, "CORE", 1)


def recursion(scan: Scan) -> Any:
    return scan.tables(CPU).recursion


def confident(batch: int, sites: int, log_doubt: float) -> Tensor:
    """Scores of a network that is sure of one digit at each site, drawn at random."""
    sure = torch.randint(10, (batch, sites, 1), generator=torch.Generator().manual_seed(1))
    return torch.full((batch, sites, 10), log_doubt, dtype=torch.float64).scatter(2, sure, 0.0)


@pytest.mark.parametrize("kind", ["unsure", "sure", "very sure"])
@pytest.mark.parametrize("sites", [7, 64])
def test_mass_and_marginals_are_those_of_the_recursion_site_by_site(sites: int, kind: str) -> None:
    answers = torch.tensor([0, 1, 3, 9 * sites, 9 * sites - 1, 4 * sites, 3 * sites + 1, 5 * sites + 2])
    scores = 3 * torch.randn(8, sites, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    if kind != "unsure":
        scores = confident(8, sites, math.log(1e-30) if kind == "sure" else -3e3) + 0.1 * scores
    layers = Totals(torch.arange(10).expand(sites, -1), [10] * sites)
    accepts = torch.arange(9 * sites + 2) == answers[:, None]
    found = []
    for way in (Convolved(layers), OneByOne(list(layers))):
        taped = scores.clone().requires_grad_()
        mass = way.log_partition(torch.zeros(8, sites, dtype=torch.long), accepts, taped)
        (marginals,) = torch.autograd.grad(mass.sum(), taped)
        found.append((mass.detach(), marginals))
    (mass, marginals), (expected, each) = found
    # Less than a double can hold: without tilting nothing would be left.
    assert (float(expected.min()) < -math.log(1e300)) is (kind == "very sure" or (kind, sites) == ("sure", 64))
    if kind != "very sure":
        assert not bool(Convolved(layers)._tree(accepts, scores)[2].any())  # tilted, all of it is in reach
    assert torch.allclose(mass, expected, rtol=1e-12, atol=1e-9)
    assert torch.allclose(marginals, each, rtol=1e-9, atol=1e-250)


def test_what_no_double_can_hold_is_computed_in_logarithms() -> None:
    """Every other site is 0 or 9 and nothing else, so that no tilting helps to 5 more."""
    scores = torch.full((2, 8, 10), -1e3, dtype=torch.float64)
    scores[:, :, [0, 9]] = 0.0
    layers, wanted = Totals(torch.arange(10).expand(8, -1), [10] * 8), torch.tensor([[41], [36]])
    way, accepts, cues = Convolved(layers), torch.arange(74) == wanted, torch.zeros(2, 8, dtype=torch.long)
    assert way._tree(accepts, scores)[2].tolist() == [True, False]
    expected = OneByOne(list(layers)).log_partition(cues, accepts, scores)
    assert float(expected[0]) < -900
    assert torch.allclose(way.log_partition(cues, accepts, scores), expected, rtol=1e-12)
    assert way.sample(cues, accepts, scores, Sampler(0)).sum(1).tolist() == [41, 36]


def test_long_sums_are_noticed_and_others_keep_their_tables() -> None:
    def way(step: Any, sites: int, values: Any = range(10), **more: Any) -> type:
        return type(recursion(Scan(step, Categorical([values] * sites), **more)))

    assert way(operator.add, 200) is Convolved
    assert way(lambda s, d: s + d, 100, vectorised=True) is Convolved
    assert way(lambda s, d: s + (d == "a"), 300, "abc") is Convolved  # counting
    assert way(operator.add, 50) is OneByOne
    assert way(lambda s, d: s + d, 50, vectorised=True) is OneByOne
    assert way(operator.add, 20, (0, 10**6)) is OneByOne  # 21 totals, far from each other
    assert way(lambda s, d: (s + d) % 700, 100, vectorised=True) is OneByOne
    assert way(lambda s, d: s + d if s < 500 else -1 + 0 * s, 100) is OneByOne


@pytest.mark.parametrize("step", [lambda s, d: s + d, lambda s, d: (s + d) % 50], ids=["long sum", "site by site"])
def test_a_large_batch_is_taken_in_parts(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws and first states: as many examples at a time as there is room for, and what is found stays the same."""
    monkeypatch.setattr(long_sums, "LARGE", 0)
    space, found = Categorical([range(10)] * 9), list[list[Tensor]]()
    belief = space.belief(torch.randn(5, 9, 10, generator=torch.Generator().manual_seed(0)))
    for most in (10**9, 5000, 1):
        monkeypatch.setattr(messages, "DOUBLES", most)
        inverse = Scanned(Scan(step, space))
        y = inverse.constraint.encode(range(30, 35))
        law, rows = inverse.law(Target(belief, y, 1.0)), inverse.scan.tables(CPU).together
        assert (rows >= 5) is (most == 10**9)
        z, marginals = law.draw(Sampler(0)), law.marginals()
        assert bool(inverse.feasible(z, y).all() & inverse.feasible(inverse.start(y, 0).z, y).all())
        found.append([law.log_mass(), marginals, law.marginals(), law.mode().float()])
    for other in found[1:]:
        assert all(torch.allclose(one, two, atol=1e-6) for one, two in zip(found[0], other, strict=True))


@pytest.mark.usefixtures("short")
def test_first_states_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a total is too improbable for the tree; false alarms: less than one in a million."""
    rule = Scan(operator.add, Categorical([range(3), (1, 0), (0, 2), range(3)]), order=[2, 0, 1, 3])
    inverse, rows, y = Scanned(rule), 2_000, rule.encode([3, 7, 99, 6])
    for least in (1e-250, 0.1):  # the second: but for 3, all totals are too improbable
        monkeypatch.setattr(long_sums, "LEAST", least)
        start = inverse.start(y.repeat(rows), seed=0)
        assert start.found.view(rows, 4).all(0).tolist() == [True, True, False, True]
        assert bool(start.proved.all())
        assert bool(rule.feasible(start.z, y.repeat(rows))[start.found].all())
        every = rule.space.states(torch.arange(rule.space.size))
        for number in (0, 1, 3):
            states = every[rule.feasible(every, y[number].expand(len(every)))]
            counts = rule.space.index(start.z[number::4]).bincount(minlength=rule.space.size)[rule.space.index(states)]
            mean = rows / len(states)
            assert bool(((counts - mean).abs() < 6 * math.sqrt(mean)).all())


@pytest.mark.parametrize("length", [1, 2, 5, 16, 31])
def test_convolutions_are_products_of_polynomials(length: int) -> None:
    a, b = torch.rand(2, 3, length, generator=torch.Generator().manual_seed(length), dtype=torch.float64)
    expected = torch.zeros(3, 2 * length - 1, dtype=torch.float64)
    for j in range(length):
        expected[:, j : j + length] += a[:, j, None] * b
    assert torch.allclose(convolve(a, b), expected, rtol=1e-14)


@pytest.mark.usefixtures("short")
def test_a_saved_rule_keeps_the_values_alone() -> None:
    space = Categorical([(0, 5, 2), (-3, 4), (1, 0)])
    inverse = Scanned(Scan(operator.add, space, order=[2, 0, 1]))
    inverse.constraint.encode([2, 9, 77])
    kept = record(inverse)
    assert kept is not None
    facts, tensors = kept
    assert set(tensors) == {"cues", "accepts", "values"}
    again = RECORDED["scan"](space, facts, tensors)
    weights = space.belief(torch.randn(3, 3, len(space.symbols), generator=torch.Generator().manual_seed(0)).double())
    codes = {each: each.constraint.encode([2, 9, 77]) for each in (inverse, again)}
    one, two = (each.law(Target(weights, codes[each], 1.0)).log_mass(quiet=True) for each in (inverse, again))
    assert torch.equal(one, two)
    assert torch.isinf(one).tolist() == [False, False, True]
    with pytest.raises(ValueError, match="values"):
        RECORDED["scan"](space, facts, tensors | {"values": tensors["values"][:, 1:]})


def test_states_are_all_totals_on_the_way_and_named_from_the_least_at_the_end() -> None:
    found = long_sums.tabulated([[0, 1, 2], [0, 3]], 5)
    assert [list(states) for states in found.states] == [[0], [0, 1, 2], [5, 6, 7, 8, 9, 10]]
    assert [len(layer[0]) - 1 for layer in found.layers] == [1, 3]  # and one that is dead


CASES = {"cues": addition_task(1), "longer": addition_task(6), "matrices": sums_task(3), "convolutions": sums_task(90)}


@pytest.mark.parametrize("task", CASES.values(), ids=CASES.keys())
def test_draws_and_marginals_together_are_those_apart(task: Task) -> None:
    """Site by site with cues and without, by a tree of matrices, by a tree of convolutions: they share their sums."""
    scan, generator = task.constraint, torch.Generator().manual_seed(0)
    y = scan.encode([3, 7, 12])
    belief = task.space.belief(torch.randn(3, task.space.sites, 10, generator=generator).double())
    law = task.inverse.law(Target(belief, y, 1.0))
    z, marginals = law.draw(Sampler(0)), law.marginals()
    assert torch.equal(z, law.draw(Sampler(0)))
    assert torch.equal(marginals, law.marginals())
    assert bool(task.feasible(z, y).all())
