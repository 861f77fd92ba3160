"""Every kind of set, with every kind of answer, against enumeration: mass, marginals, mode, draws, second slopes."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

import softground as sg
from exhaustive import every_draw
from softground import Between, Categorical, Contains, Not, OneOf, Program, Scan
from softground.constraints.scan import long_sums
from softground.constraints.scan.long_sums import Convolved
from softground.constraints.scan.messages import OneByOne
from softground.constraints.scan.tree import Tree
from softground.dice import Sampler
from softground.errors import InfeasibleAnswer, InverseError
from softground.inverses import (
    Circuit,
    Enumeration,
    Inverse,
    Listing,
    Lists,
    Scanned,
    Table,
    complements,
    default_inverse,
    sets,
)
from softground.inverses import codes as codes_file
from softground.inverses.base import start_given
from softground.inverses.circuit.inverse import Compiled
from softground.inverses.complements import cubes_of
from softground.inverses.listing import Shared
from softground.inverses.scanned import Chain
from softground.inverses.sets import Law, Listed, Set
from softground.spaces import CategoricalBelief
from softground.target import Target
from softground.tasks.addition import addition_scan

CPU = torch.device("cpu")
SPACE = Categorical([range(4), range(3), (-2, 0, 1, 3, 5)])
BITS = Categorical([(False, True)] * 3 + [(True, False)] * 2)
SYMBOLS = torch.tensor(SPACE.decode(SPACE.states(torch.arange(SPACE.size))))
EXACT = [5, 0, 8, -2, 3]  # of very different |S_y|
RELATED = [Not(3), None, OneOf(1, 8), Between(2, 5), Not(OneOf(0, Between(3, None))), OneOf(5, Not(1)), Not(99)]
GAMMAS = [0.02, 0.3, 1.0, math.inf]
SITES = [0, 1, 2]


def total(a: Any, b: Any, c: Any) -> Any:
    return a + b + c


def added(state: int, symbol: int) -> int:
    return state + symbol


def refusing(state: Any, symbol: int, site: int) -> Any:
    """The sum of the symbols, if the second is not the first."""
    if site == 0:
        return symbol, symbol
    return state[1] + symbol if site == 2 else None if symbol == state[0] else (0, state[1] + symbol)


def due(state: int, symbol: int, site: int, cue: int) -> Any:
    """The second symbol is as even as the answer."""
    return None if site == 1 and symbol % 2 != cue else state + symbol


def listing() -> Inverse:
    rule = Program(lambda a, b, c: a + b + c == 5, SPACE)
    return sg.Task(
        SPACE, rule, Listing(SPACE, rule.space.states((SYMBOLS.sum(1) == 5).nonzero().flatten()).flip(0))
    ).inverse


def long_sum() -> Inverse:
    large, long_sums.LARGE = long_sums.LARGE, 0
    scan = Scan(lambda s, d: s + d, SPACE, order=[2, 0, 1])
    assert isinstance(scan.tabulation.layers, long_sums.Totals)
    long_sums.LARGE = large
    return Scanned(scan)


class SiteBySite(Scan):
    """In longer scans that is less work than a tree."""

    def _made(self, device: torch.device) -> Any:
        tables = super()._made(device)
        return replace(tables, recursion=tables.reading_on)


def lists() -> Inverse:
    return Lists(Enumeration(SPACE, sg.SMT(lambda z, y: z[0] + z[1] + z[2] == y, SPACE)), {})


def piece(given: Any) -> Callable[[], Inverse]:
    return lambda: default_inverse(given.rule(SPACE), SPACE)


def table(rule: Callable[..., Any], **how: Any) -> Callable[[], Inverse]:
    return lambda: Table(Program(rule, SPACE), **how)


def scan(step: Callable[..., Any], **how: Any) -> Callable[[], Inverse]:
    return lambda: Scanned(Scan(step, SPACE, **how))


def formula() -> Inverse:
    return Circuit(sg.Cnf([[1, 2], [-1, 3], [2, -4], [-2, -3, 4]], BITS))  # no clause names the last variable


@dataclass(frozen=True)
class Case:
    """An inverse, answers of several kinds, and the set of the first of them; for a scan, how it is summed over."""

    make: Callable[[], Inverse]
    answers: list[Any]
    kind: type[Set]
    recursion: type | None = None


CASES = {
    "ragged": Case(table(total, _padded=False), EXACT + RELATED, Listed),
    "padded": Case(table(total, _padded=True), EXACT + RELATED[:-1], Listed),  # no state has 99
    "not everywhere": Case(table(lambda a, b, c: a + b + c if a != b else None), [5, 0, 8, *RELATED], Listed),
    "tuples": Case(table(lambda a, b, c: (a, b + c)), [(1, 3), Contains(3), Not(Contains(1))], Listed),
    "tried": Case(lambda: Enumeration(SPACE, Program(total, SPACE, vectorised=True)), EXACT + RELATED, Listed),
    "lists": Case(lists, [*EXACT, Not(3), None, OneOf(1, 8), Not(99)], Listed),
    "shared": Case(listing, [True, None, Not(True)], Shared),
    "tree": Case(scan(refusing, start=None), [5, 0, 8, *RELATED], Chain, Tree),
    "turned": Case(scan(lambda s, d: (s + d) % 3, order=[2, 0, 1]), [1, None, Not(2)], Chain, Tree),
    "cues": Case(scan(due, cue=lambda y, _: y % 2, accept=lambda s, y: s == y), [5, 0, 8, None, Not(3)], Chain),
    "site by site": Case(lambda: Scanned(SiteBySite(added, SPACE)), EXACT + RELATED, Chain, OneByOne),
    "long sum": Case(long_sum, EXACT + RELATED, Chain, Convolved),
    "sum": Case(piece(sg.Sum(SITES)), EXACT + RELATED, Chain),
    "count": Case(piece(sg.Count(SITES, {1, 3})), [1, Not(2), None], Chain),
    "value": Case(piece(sg.Value(SITES, lambda a, b, c: a * b - c)), [-1, Not(0)], Listed),
    "different": Case(piece(sg.AllDifferent(SITES)), [True, Not(True)], Chain),
    "increasing": Case(piece(sg.Increasing(SITES)), [True], Chain),
    "not decreasing": Case(piece(sg.Increasing(SITES, strict=False)), [True], Chain),
    "allowed": Case(piece(sg.Allowed(SITES, [(0, 0, 0), (3, 1, 5), (3, 1, 3), (2, 2, -2)])), [True], Chain),
    "clause": Case(piece(sg.Clause({0: 3, 1: 0, 2: 5})), [True, Not(True)], Chain),
    "circuit": Case(formula, [True, False, None], Compiled),
}
NAMES = [name for name in CASES if name != "circuit" or find_spec("pysdd")]


@cache
def made(name: str) -> tuple[Inverse, Tensor, Tensor]:
    """An inverse, the case's answers, and which states each of them admits."""
    inverse = CASES[name].make()
    y = inverse.constraint.encode(CASES[name].answers)
    every = inverse.space.states(torch.arange(inverse.space.size))
    inside = torch.stack([inverse.constraint.feasible(every, one.expand(len(every))) for one in y])
    assert bool(inside.any(1).all())
    return inverse, y, inside


def beliefs(name: str, rows: int, scale: float = 2.0) -> CategoricalBelief:
    space = made(name)[0].space
    chance = torch.Generator().manual_seed(3)
    return space.belief(scale * torch.randn(rows, space.sites, space.outputs, generator=chance, dtype=torch.float64))


def enumerated(space: Categorical, scores: Tensor, inside: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log w of all states, −∞ for those outside S_y; the log of the mass; and the marginals."""
    every = space.states(torch.arange(space.size))
    log_weight = scores[:, torch.arange(space.sites), every].sum(-1).masked_fill(~inside, -math.inf)
    hot = one_hot(every, space.width).to(scores)
    return log_weight, log_weight.logsumexp(1), torch.einsum("bz,zik->bik", log_weight.softmax(1), hot)


def near(found: Tensor, expected: Tensor, within: float = 1e-9) -> bool:
    return torch.allclose(found.double(), expected.double(), atol=within, rtol=within)


@pytest.mark.parametrize("name", NAMES)
def test_the_kind_is_the_one_that_is_meant(name: str) -> None:
    inverse, y, _ = made(name)
    ((_, of),) = inverse.law(Target(beliefs(name, 1), y[:1], 1.0)).of
    assert type(of) is CASES[name].kind
    if isinstance(of, Listed) and name in ("ragged", "padded"):
        assert (of.longest > 0) is (name == "padded")
    if (recursion := CASES[name].recursion) is not None:
        assert type(inverse.constraint.tables(CPU).recursion) is recursion  # type: ignore[attr-defined]


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_that_of_enumeration(name: str, gamma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_sums, "CORE", 1)
    inverse, y, inside = made(name)
    weights = beliefs(name, len(y)).tempered(gamma)
    scores = weights.scores.detach().requires_grad_()
    log_weight, mass, marginals = enumerated(inverse.space, weights.scores, inside)
    plain, taped = (
        inverse.law(Target(CategoricalBelief(inverse.space, s), y, gamma)) for s in (weights.scores, scores)
    )
    assert near(plain.log_mass(), mass)
    assert near(plain.marginals(), marginals)
    assert near(taped.marginals(), marginals)
    assert near(torch.autograd.grad(taped.log_mass().sum(), scores)[0], marginals)
    drawn, also = plain.draw(Sampler(0)), plain.marginals()
    assert near(also, marginals)
    assert bool(inside.gather(1, inverse.space.index(drawn)[:, None]).all())
    best, mode = log_weight >= log_weight.amax(1, keepdim=True) - 1e-12, inverse.space.index(plain.mode())
    assert bool(best.gather(1, mode[:, None]).all())
    if name not in ("long sum", "circuit", "turned"):  # of several, the smallest
        assert mode.tolist() == best.to(torch.uint8).argmax(1).tolist()


@pytest.mark.parametrize("gamma", [0.3, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_draws_have_the_law(name: str, gamma: float) -> None:
    inverse, y, inside = made(name)
    weights = beliefs(name, len(y), 1.0).tempered(gamma)
    for row, expected in enumerate(enumerated(inverse.space, weights.scores, inside)[0].softmax(1)):
        found = torch.zeros(inverse.space.size, dtype=torch.float64)
        for probability, z in every_draw(inverse, weights.rows(slice(row, row + 1)), y[row : row + 1]):
            found[inverse.space.index(z)] += probability
        assert near(found, expected)


@pytest.mark.parametrize("gamma", [0.3, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_entropies_and_their_slopes_are_those_of_enumeration(name: str, gamma: float) -> None:
    inverse, y, inside = made(name)
    scores = beliefs(name, len(y)).tempered(gamma).scores.detach().requires_grad_()
    log_weight, mass, _ = enumerated(inverse.space, scores, inside)
    q = log_weight.softmax(1)
    expected = mass - (q * log_weight.masked_fill(~inside, 0.0)).sum(1)
    found = inverse.law(Target(CategoricalBelief(inverse.space, scores), y, gamma)).entropy()
    assert near(found, expected.detach())
    one, two = (torch.autograd.grad(each.sum(), scores)[0] for each in (found, expected))
    assert bool(one.any())
    assert near(one, two)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_kind_does_itself_is_what_follows_from_its_sum(name: str) -> None:
    """Marginals, modes and draws of its own against slopes of its sums; and sums of either way."""
    inverse, y, inside = made(name)
    weights = beliefs(name, len(y))
    log_weight, mass, marginals = enumerated(inverse.space, weights.scores, inside)
    law = inverse.law(Target(weights, y, 1.0))
    for rows, of in law.of:
        own = torch.arange(len(y)) if rows is None else rows
        scores = law.scores[own]
        shares, best = Set.slopes(of, scores, "sum"), Set.slopes(of, scores, "best").argmax(-1)
        assert near(shares, marginals[own])
        assert torch.equal(best, law.mode()[own])
        drawn = Set.slopes(of, scores, Sampler(0)).argmax(-1)
        assert bool(inside[own].gather(1, inverse.space.index(drawn)[:, None]).all())
        assert near(of.reduce(scores, Sampler(0)), mass[own])
        assert near(of.reduce(scores, "best"), log_weight[own].amax(1))
        assert not bool(of.empty(scores).any())


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_and_inference_mode(name: str) -> None:
    inverse, y, inside = made(name)
    weights = beliefs(name, len(y)).tempered(0.3)
    _, mass, marginals = enumerated(inverse.space, weights.scores, inside)
    with torch.inference_mode():
        single = CategoricalBelief(inverse.space, weights.scores.float() + 0.0)
        law = inverse.law(Target(single, y.clone(), 0.3))
        assert near(law.log_mass(), mass, 1e-4)
        assert near(law.marginals(), marginals, 1e-4)
        assert law.marginals().dtype == torch.float32
        assert near(law.entropy(), inverse.law(Target(weights, y, 0.3)).entropy(), 1e-3)
        z = law.draw(Sampler(0))
        for states in (z, law.draw(Sampler(0)), law.mode()):
            assert bool(inside.gather(1, inverse.space.index(states)[:, None]).all())


@pytest.mark.parametrize("name", NAMES)
def test_without_gradients_there_is_no_tape(name: str) -> None:
    inverse, y, _ = made(name)
    scores = beliefs(name, len(y)).scores.requires_grad_()
    with torch.no_grad():
        law = inverse.law(Target(CategoricalBelief(inverse.space, scores), y, 1.0))
        found = [law.log_mass(), law.marginals(), law.entropy(), law.marginals()]
    assert not any(each.requires_grad for each in found)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_in_inference_mode_is_trained_with_later(name: str) -> None:
    inverse = CASES[name].make()
    with torch.inference_mode():
        y = inverse.constraint.encode(CASES[name].answers)
        z = inverse.law(Target(beliefs(name, len(y)), y, 1.0)).mode()
        assert bool(inverse.feasible(z, y).all())
    scores = beliefs(name, len(y)).scores.requires_grad_()
    law = inverse.law(Target(CategoricalBelief(inverse.space, scores), y.clone(), 1.0))
    (gradient,) = torch.autograd.grad(law.log_mass().sum(), scores)
    assert near(gradient, law.marginals().detach())


@pytest.mark.parametrize("name", NAMES)
def test_where_the_network_is_sure_of_something_else(name: str) -> None:
    """No double holds the probability of S_y, nor what is left of the whole space beside it."""
    inverse, y, inside = made(name)
    wrong = (~inside).to(torch.uint8).argmax(1)
    sure = 3000.0 * one_hot(inverse.space.states(wrong), inverse.space.width)
    scores = (beliefs(name, len(y)).scores + sure).log_softmax(-1).requires_grad_()
    _, mass, marginals = enumerated(inverse.space, scores.detach(), inside)
    law = inverse.law(Target(CategoricalBelief(inverse.space, scores), y, 1.0))
    assert near(law.log_mass(), mass)
    assert near(law.marginals(), marginals)
    assert near(torch.autograd.grad(law.log_mass().sum(), scores)[0], marginals)
    assert bool((mass < -1000).all() | inside.all(1).any())


@pytest.mark.parametrize("name", NAMES)
def test_known_symbols(name: str) -> None:
    """What they leave of S_y has the law; where they leave nothing, the mass is −∞ and no other row is touched."""
    inverse, y, inside = made(name)
    space, states = inverse.space, inverse.space.states(torch.arange(inverse.space.size))
    known = torch.full((len(y), space.sites), -1)
    known[:, 1] = states[inside.to(torch.uint8).argmax(1), 1]
    weights = beliefs(name, len(y)).given(known)
    _, mass, marginals = enumerated(space, weights.scores, inside & (states[:, 1] == known[:, 1:2]))
    law = inverse.law(Target(weights, y, 1.0))
    assert near(law.log_mass(), mass)
    assert near(law.marginals(), marginals)
    assert bool((law.mode()[:, 1] == known[:, 1]).all() & (law.draw(Sampler(0))[:, 1] == known[:, 1]).all())
    start = start_given(inverse, y, 0, known)
    assert bool(start.found.all() & (start.z[:, 1] == known[:, 1]).all())
    if not bool(inside[0].all()):
        wrong = torch.cat([torch.full_like(known[:1], -1), states[~inside[0]][:1]])
        scores = beliefs(name, 2).given(wrong).scores.clone().requires_grad_()
        found = inverse.law(Target(CategoricalBelief(space, scores), y[[0, 0]], 1.0)).log_mass()
        assert torch.isneginf(found).tolist() == [False, True]
        (gradient,) = torch.autograd.grad(found[0], scores)
        assert bool(gradient.isfinite().all())
        assert not bool(gradient[1].any())


@pytest.mark.parametrize("name", ["ragged", "tried", "lists", "tree", "site by site", "long sum", "sum", "cues"])
def test_an_empty_set_has_no_mass_and_nothing_to_draw(name: str) -> None:
    inverse = CASES[name].make()
    y = inverse.constraint.encode([5, 99, 0, 101, None])
    scores = beliefs(name, 5).scores.clone().requires_grad_()
    law = inverse.law(Target(CategoricalBelief(SPACE, scores), y, 1.0))
    mass = law.log_mass()
    assert torch.isneginf(mass).tolist() == [False, True, False, True, False]
    (gradient,) = torch.autograd.grad(mass[[0, 2, 4]].sum(), scores)
    assert bool(gradient.isfinite().all())
    assert not bool(gradient[[1, 3]].any())
    plain = inverse.law(Target(beliefs(name, 5), y, 1.0))
    asked: list[Callable[[], Any]] = [law.marginals, law.mode, plain.marginals]
    for ask in [*asked, lambda: plain.draw(Sampler(0)), plain.marginals]:
        with pytest.raises(InfeasibleAnswer, match="row") as caught:
            ask()
        assert caught.value.examples == (1, 3)
    assert inverse.start(y, 0).found.tolist() == [True, False, True, False, True]
    assert inverse.law(Target(beliefs(name, 2), y[[1, 3]], 1.0)).log_mass().tolist() == [-math.inf] * 2


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_may_have_no_examples(name: str) -> None:
    inverse, y, _ = made(name)
    law = inverse.law(Target(beliefs(name, 0), y[:0], 1.0))
    assert law.log_mass().shape == law.entropy().shape == (0,)
    assert law.mode().shape == law.draw(Sampler(0)).shape == (0, inverse.space.sites)
    assert law.marginals().shape == (0, inverse.space.sites, inverse.space.width)


@pytest.mark.parametrize("name", ["ragged", "tried", "lists"])
def test_large_batches_are_taken_in_parts_once_for_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inverse, y, _ = made(name)
    scores = beliefs(name, len(y)).scores.clone().requires_grad_()
    whole = inverse.law(Target(beliefs(name, len(y)), y, 1.0))
    expected = whole.log_mass(), whole.marginals(), whole.mode(), whole.entropy()
    rows, reduce = list[int](), Listed.reduce
    alive, most = weakref.WeakSet[Listed](), list[int]()

    def noted(self: Listed, *given: Any) -> Tensor:
        rows.append(len(self.which))
        alive.add(self)
        most.append(len(alive))
        return reduce(self, *given)

    monkeypatch.setattr(Listed, "reduce", noted)
    monkeypatch.setattr(sets, "PART_ROWS", 2)
    law = inverse.law(Target(beliefs(name, len(y)), y, 1.0))
    found = law.log_mass(), law.marginals(), law.mode(), law.entropy()
    assert max(rows) == 2
    assert max(most) < 6  # parts of parts are let go of
    assert all(near(one, two) for one, two in zip(found, expected, strict=True))
    drawn, marginals = law.draw(Sampler(0)), law.marginals()
    assert torch.equal(drawn, law.draw(Sampler(0)))
    assert near(marginals, expected[1])
    taped = inverse.law(Target(CategoricalBelief(SPACE, scores), y, 1.0))
    assert near(taped.marginals(), expected[1])
    rows.clear()
    monkeypatch.setattr(sets, "PART_ROWS", 512)
    monkeypatch.setattr(sets, "PART_STATES", 1)
    assert near(law.log_mass(), expected[0])
    assert max(rows) == 1


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_cubes_hold_every_state_that_is_not_listed_once(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """In single runs of sites, and in runs of one site each."""
    for limit in (2048, 1):
        monkeypatch.setattr(codes_file, "BLOCK_LIMIT", limit)
        listed = torch.rand(SPACE.size, generator=torch.Generator().manual_seed(int(10 * share))) < share
        codes = cubes_of(listed.nonzero().flatten(), False, SPACE)
        which = torch.tensor([[0, codes.shape[1]]])
        of = Listed(which, codes, SPACE.sizes, cubes=True)
        assert codes.shape[1] <= int((~listed).sum()) or share == 0
        z = SPACE.states(torch.arange(SPACE.size))
        one_each = torch.full((SPACE.size, 3, 5), sets.LOG_ZERO, dtype=torch.float64).scatter(2, z[..., None], 0.0)
        found = Listed(which.expand(SPACE.size, 2), codes, SPACE.sizes, cubes=True).reduce(one_each, "sum").exp()
        assert torch.equal(found, (~listed).double())
        assert bool(of.empty(one_each[:1])) is (share == 1.0)


def test_an_unknown_answer_in_a_space_without_indices() -> None:
    """Of a scan that refuses symbols, and is read as a tree."""
    inverse = Scanned(addition_scan(20))
    space, y = inverse.space, inverse.constraint.encode([3, None, 10**20])
    assert [type(of) for _, of in inverse.law(Target(space.uniform(3, CPU), y, 1.0)).of] == [Chain, Listed]
    output = torch.randn(3, 40, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    law = inverse.law(Target(belief := space.belief(output), y, 1.0))
    assert law.log_mass()[1] == pytest.approx(0.0, abs=1e-9)
    assert near(law.marginals()[1], belief.marginals()[1])
    z = law.draw(Sampler(0))
    assert bool(inverse.feasible(z, y).all())
    assert law.mode()[1].tolist() == belief.mode()[1].tolist()


def test_not_one_answer_is_all_the_others() -> None:
    """Also where the network is sure of what is excluded, and γ is low: nothing is subtracted."""
    space = Categorical([range(4)] * 3)
    inverse = Table(Program(total, space))
    y = inverse.program.encode([Not(3), OneOf(0, 1, 2, *range(4, 10))])
    output = torch.zeros(2, 3, 4)
    output[:, :, 1] = 8.0
    for gamma in (1.0, 0.1, 0.02):
        law = inverse.law(Target.at(space.belief(output), y, gamma))
        assert law.log_mass()[0] == pytest.approx(float(law.log_mass()[1]), rel=1e-5)
        assert torch.allclose(*law.marginals(), atol=1e-5)
        assert law.marginals()[0, :, 1].tolist() == pytest.approx([2 / 3] * 3, abs=0.02)


def test_the_cubes_of_few_lists_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    inverse = Table(Program(total, SPACE))
    y = inverse.program.encode([Not(3), Not(5), Not(0)])
    for limit, kept in ((10**6, 3), (1, 1)):
        monkeypatch.setattr(complements, "CUBES_KEPT", limit)
        inverse._cubes._kept.clear()
        for one in y:
            inverse.law(Target(beliefs("ragged", 1), one[None], 1.0)).log_mass()
        assert len(inverse._cubes._kept) == kept


def test_a_law_of_reals_has_no_entropy_of_symbols() -> None:
    rule = sg.reals.Equations([[1.0, 1.0]], sg.reals.Gaussian(2))
    law = sg.Task(rule.space, rule).inverse.law(Target(rule.space.belief(torch.zeros(1, 2)), rule.encode([1.0]), 1.0))
    assert isinstance(law, Law)
    with pytest.raises(InverseError, match="no law of symbols"):
        law.entropy()
