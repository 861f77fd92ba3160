"""The law of S_y in all its forms, against brute force: draws, marginals, mass and its gradient, mode."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from exhaustive import Replay, every_draw
from problems import PROBLEMS, Problem
from softground import Categorical, Not, Program, Sampler, Scan
from softground.errors import InfeasibleAnswer, InverseError
from softground.inverses import Enumeration, Inverse, Listing, Scanned, Table, table
from softground.inverses.complement import Split
from softground.inverses.law import Padded, Parts, Ragged, Shared
from softground.inverses.scanned import Recursive
from softground.projections import Drop, Dropped
from softground.spaces import CategoricalBelief
from softground.target import Target

TOLERANCE = 1e-12
SPACE = Categorical([range(4), range(3), range(5)])
ANSWERS = [5, 0, 8, 9, 3]  # of very different |S_y|


def _program() -> Program:
    return Program(lambda a, b, c: a + b + c, SPACE, vectorised=True)


def _listing() -> Listing:
    everything = SPACE.states(torch.arange(SPACE.size))
    return Listing(SPACE, everything[everything.sum(1) == 5].flip(0))


INVERSES: dict[str, tuple[Callable[[], Inverse], type]] = {
    "ragged": (lambda: Table(_program(), _padded=False), Ragged),
    "padded": (lambda: Table(_program(), _padded=True), Padded),
    "by enumeration": (lambda: Enumeration(SPACE, _program()), Ragged),
    "shared": (_listing, Shared),
    "recursive": (lambda: Scanned(Scan(lambda s, d: s + d, SPACE)), Recursive),
}


def answers_of(inverse: Inverse, answers: list[int]) -> Tensor:
    """Encoded answers; a listing has the one list for all of them."""
    if isinstance(inverse, Listing):
        return torch.zeros(len(answers), dtype=torch.long)
    return inverse.constraint.encode(answers)


def solutions(inverse: Inverse, answer: int) -> Tensor:
    everything = SPACE.states(torch.arange(SPACE.size))
    return everything[everything.sum(1) == (5 if isinstance(inverse, Listing) else answer)]


def lopsided(batch: int, scale: float = 2.0) -> CategoricalBelief:
    output = scale * torch.randn(batch, 3, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return SPACE.belief(output)


@pytest.mark.parametrize("gamma", [1.0, 0.3, math.inf])
@pytest.mark.parametrize("name", INVERSES)
def test_the_law_is_that_of_brute_force(name: str, gamma: float) -> None:
    make, kind = INVERSES[name]
    inverse = make()
    y, belief = answers_of(inverse, ANSWERS), lopsided(len(ANSWERS))
    weights = belief.tempered(gamma)
    scores = weights.scores.detach().requires_grad_()
    law = inverse.law(Target(CategoricalBelief(SPACE, scores), y, gamma))
    assert isinstance(law, kind)
    mass, marginals, mode = law.log_mass(), law.marginals(), law.mode()
    (gradient,) = torch.autograd.grad(mass.sum(), scores)
    for row, answer in enumerate(ANSWERS):
        states = solutions(inverse, answer)
        log_weight = weights.rows(torch.full((len(states),), row)).log_prob(states)
        q = log_weight.softmax(0)
        assert torch.allclose(mass[row], log_weight.logsumexp(0), atol=TOLERANCE)
        expected = (q[:, None, None] * torch.nn.functional.one_hot(states, SPACE.width)).sum(0)
        assert torch.allclose(marginals[row], expected, atol=TOLERANCE)
        assert torch.allclose(gradient[row], expected, atol=TOLERANCE)
        best = states[(log_weight >= log_weight.max() - TOLERANCE).nonzero()[0, 0]]  # ties: the smallest
        assert torch.equal(mode[row], best)
        for probability, z in every_draw(inverse, weights.rows(slice(row, row + 1)), y[row : row + 1]):
            place = (states == z).all(1).nonzero().flatten()
            assert len(place) == 1
            q[place] -= probability
        assert float(q.abs().max()) < TOLERANCE


@pytest.mark.parametrize("gamma", [1.0, 0.3])
@pytest.mark.parametrize("name", [*INVERSES, "parts", "complement"])
def test_entropies_are_those_of_brute_force(name: str, gamma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "parts":
        monkeypatch.setattr(table, "PART_ROWS", 2)
    inverse = INVERSES.get(name, INVERSES["ragged"])[0]()
    asked: list[Any] = [Not(a) for a in ANSWERS[:3]] + ANSWERS[3:] if name == "complement" else ANSWERS
    y, states = answers_of(inverse, asked), SPACE.states(torch.arange(SPACE.size))
    inside = torch.stack([inverse.feasible(states, answer.expand(len(states))) for answer in y])
    scores = lopsided(len(asked)).tempered(gamma).scores.clone().requires_grad_()
    weights = CategoricalBelief(SPACE, scores)
    each = torch.stack([weights.rows(torch.full((len(states),), row)).log_prob(states) for row in range(len(y))])
    q = each.masked_fill(~inside, -math.inf).softmax(-1)
    law, chance = inverse.law(Target(weights, y, gamma)), torch.Generator().manual_seed(1)
    assert name != "complement" or isinstance(law, Split)
    safe = torch.where(q > 0, q, 1.0)
    found, expected = law.entropy(), -(safe * safe.log()).sum(-1)
    assert torch.allclose(found, expected, atol=1e-9, rtol=0)
    direction = torch.rand(found.shape, generator=chance, dtype=found.dtype)
    one, two = (
        torch.autograd.grad((direction * part).sum(), scores, retain_graph=True)[0] for part in (found, expected)
    )
    assert bool(one.any())
    assert torch.allclose(one, two, atol=1e-9, rtol=0)


def test_a_law_without_gradients_of_marginals_says_so() -> None:
    class Cut(Padded):
        def marginals(self) -> Tensor:
            return super().marginals().detach()

    index, mask = torch.arange(4)[None], torch.ones(1, 4, dtype=torch.bool)
    plain, taped = (CategoricalBelief(SPACE, lopsided(1).scores.clone().requires_grad_(on)) for on in (False, True))
    assert torch.allclose(Cut(index, mask, plain).entropy(), Padded(index, mask, taped).entropy())
    with pytest.raises(InverseError, match="not their gradients"):
        Cut(index, mask, taped).entropy()


@pytest.mark.parametrize("name", ["ragged", "padded", "by enumeration", "recursive"])
def test_an_empty_set_has_no_mass_and_nothing_to_draw(name: str) -> None:
    inverse = INVERSES[name][0]()
    y, weights = answers_of(inverse, [5, 100, 3, 101]), lopsided(4)
    scores = weights.scores.detach().requires_grad_()
    law = inverse.law(Target(CategoricalBelief(SPACE, scores), y, 1.0))
    mass = law.log_mass()
    assert torch.isfinite(mass).tolist() == [True, False, True, False]
    assert mass[1] == -math.inf
    (gradient,) = torch.autograd.grad(mass[[0, 2]].sum(), scores)
    assert bool(torch.isfinite(gradient).all())
    assert not bool(gradient[[1, 3]].any())
    for ask in (law.marginals, law.mode, lambda: law.draw(Replay(torch.zeros(4, 0, dtype=torch.long)))):
        with pytest.raises(InfeasibleAnswer) as caught:
            ask()
        assert caught.value.examples == (1, 3)


def test_a_batch_with_no_solution_at_all() -> None:
    inverse = Table(_program(), _padded=False)
    y = inverse.program.encode([100, 101])
    assert inverse.law(Target(lopsided(2), y, 1.0)).log_mass().tolist() == [-math.inf] * 2


def test_a_large_batch_names_the_rows_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "PART_ROWS", 2)
    inverse = Table(_program(), _padded=False)
    y = inverse.program.encode([5, 3, 4, 100, 2])
    law = inverse.law(Target(lopsided(5), y, 1.0))
    assert isinstance(law, Parts)
    with pytest.raises(InfeasibleAnswer) as caught:
        law.mode()
    assert caught.value.examples == (3,)
    assert torch.isfinite(law.log_mass()).tolist() == [True, True, True, False, True]


def test_a_large_batch_holds_one_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: weakref.WeakSet[Ragged] = weakref.WeakSet()
    most = []

    class Watched(Ragged):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            parts.add(self)
            most.append(len(parts))

    monkeypatch.setattr(table, "PART_ROWS", 2)
    monkeypatch.setattr(table, "Ragged", Watched)
    inverse = Table(_program(), _padded=False)
    law = inverse.law(Target(lopsided(5), inverse.program.encode(ANSWERS), 1.0))
    drawn, marginals = law.draw_with_marginals(Sampler(0))
    assert most == [1, 1, 1]
    assert torch.equal(drawn, law.draw(Sampler(0)))
    assert torch.equal(marginals, law.marginals())


def test_an_inverse_without_a_law_says_which_have_one() -> None:
    class Blind(Enumeration):
        solutions = Inverse.solutions

    target = Target(lopsided(1), _program().encode([5]), 1.0)
    blind = Blind(SPACE, _program())
    with pytest.raises(InverseError, match="Tables, listings and scans have one"):
        blind.law(target)
    assert blind.most_probable(target) is None


class Fresh:
    """A projection of one's own that makes a new tensor for every step."""

    def __init__(self, sites: tuple[int, ...]) -> None:
        self.sites = sites

    def draw(self, dice: object, batch: int, device: torch.device) -> Dropped:
        return Dropped(torch.tensor(self.sites, device=device).expand(batch, -1), shared=True)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_projection_with_fresh_tensors_fills_no_cache(problem: Problem) -> None:
    inverse, states = problem.table, problem.states
    y = problem.program.encode([problem.answer]).expand(len(states))
    for drop in problem.drops:
        fixed = Drop(problem.space, drop).draw(None, len(states), states.device)  # type: ignore[arg-type]
        known = inverse.fibre(states, y, fixed)
        remembered = len(inverse._folded)
        for _ in range(3):
            fibre = inverse.fibre(states, y, Fresh(drop).draw(None, len(states), states.device))
            for row in range(len(states)):
                assert torch.equal(fibre.values[row][fibre.mask[row]], known.values[row][known.mask[row]])
        assert len(inverse._folded) == remembered
        inverse.fibre(states, y, Drop(problem.space, drop).draw(None, len(states), states.device))  # type: ignore[arg-type]
        assert len(inverse._folded) == remembered  # another projection with the same set


def test_two_batches_drop_what_each_drops() -> None:
    rows = Dropped(torch.tensor([[0], [2]]))
    assert rows.twice().sites.tolist() == [[0], [2], [0], [2]]
    assert rows.kept(3).tolist() == [[False, True, True], [True, True, False]]
    shared = Drop(SPACE, [1]).draw(None, 2, torch.device("cpu"))  # type: ignore[arg-type]
    assert shared.twice().sites.tolist() == [[1]] * 4
    assert (shared.twice().shared, shared.twice().key) == (True, (1,))
