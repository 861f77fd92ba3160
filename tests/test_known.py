"""Known symbols hold exactly in every law, kernel, first state and teacher: S_y ∩ {z_i = k_i} by brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from exhaustive import reaches_everything, transition_matrix
from lessons import Lesson
from proofs import BATCH, BOARD, PROBLEM, SPACE, STATES, SUM, TABLE, TABLES, TASK, Ground, scan, smt
from softground import Categorical, Program
from softground.dice import Sampler
from softground.inverses import Z3, Fibre, Inverse, Listing, Scanned, Start, Table
from softground.inverses.base import start_given
from softground.kernels import Composed, DirectWalk, Exact, Guided, Kernel, Metropolis, Uniform
from softground.projections import ChangeOne, Drop, Dropped
from softground.target import Target
from softground.training import Teacher

KNOWN = torch.tensor([-1, 2, -1])  # of three digits that add up to 5
LEFT = STATES[STATES[:, 1] == 2]
LAWS: dict[str, Any] = {
    "ragged": lambda: PROBLEM.ragged,
    "padded": lambda: PROBLEM.padded,
    "enumeration": lambda: PROBLEM.enumeration,
    "listing": lambda: Listing(SPACE, STATES),
    "scan": lambda: Scanned(scan()),
    "z3": lambda: Z3(smt()),
}
WALKS = [kind for kind, (_, ground, *_) in TABLES[Kernel].items() if ground in (SUM, BOARD)]
MATRICES = [kind for kind in WALKS if TABLES[Kernel][kind][1] is SUM and kind is not Composed]  # that of its parts
FINDERS = [kind for kind, (_, ground, *_) in TABLES[Inverse].items() if ground.rule.space.categorical]


def given(rows: int, gamma: float = 0.7) -> Target[Any]:
    target = PROBLEM.target(rows, gamma)
    return replace(target, weights=target.weights.given(KNOWN.expand(rows, -1)))


def left_law(gamma: float = 0.7) -> Tensor:
    weight = PROBLEM.belief(len(LEFT)).log_prob(LEFT)
    return (torch.zeros_like(weight) if math.isinf(gamma) else weight / gamma).softmax(0)


@pytest.mark.parametrize("gamma", [0.7, math.inf])
@pytest.mark.parametrize("name", LAWS)
def test_laws_are_those_of_what_is_left(name: str, gamma: float) -> None:
    inverse, rows = LAWS[name](), 400
    target = given(rows, gamma)
    target = replace(target, answers=inverse.constraint.encode([5] * rows) if name != "listing" else target.answers)
    law, q = inverse.law(target), left_law(gamma)
    expected = (q[:, None, None] * one_hot(LEFT, SPACE.width)).sum(0)
    assert torch.allclose(law.marginals()[0], expected)
    assert torch.equal(law.mode()[0], LEFT[q.argmax()])
    assert set(map(tuple, law.draw(Sampler(0)).tolist())) <= set(map(tuple, LEFT.tolist()))
    conditional = target.weights.log_prob(LEFT[:1].expand(rows, -1))[0] - q[0].log()
    assert torch.allclose(law.log_mass()[0], conditional)


@pytest.mark.parametrize("name", LAWS)
def test_a_contradiction_has_no_mass(name: str) -> None:
    inverse = LAWS[name]()
    y = inverse.constraint.encode([5] * 2) if name != "listing" else torch.zeros(2, dtype=torch.long)
    known = torch.tensor([[0, 0, -1], [-1, 2, -1]])  # 0 + 0 + 3 is less than 5
    mass = inverse.law(Target(SPACE.uniform(2, y.device).given(known), y, 1.0)).log_mass()
    assert torch.isneginf(mass).tolist() == [True, False]
    assert torch.allclose(mass[1], torch.tensor(float(len(LEFT))).double().log())


@pytest.mark.parametrize("gamma", [0.7, math.inf])
@pytest.mark.parametrize("kind", MATRICES, ids=lambda kind: kind.__name__)
def test_kernels_keep_the_law_of_what_is_left(kind: type[Kernel], gamma: float) -> None:
    kernel, q = TABLES[Kernel][kind][0](), left_law(gamma)
    matrix = transition_matrix(kernel, LEFT, lambda rows: given(rows, gamma), SPACE)  # raises where a step leaves them
    assert torch.allclose(matrix.sum(1), torch.ones(len(LEFT), dtype=torch.float64))
    if kind is not Metropolis:  # the paper's, which keeps another law
        assert float((q @ matrix - q).abs().max()) < 1e-12
    assert reaches_everything(matrix) or kind is DirectWalk  # which does not connect S_y either


def test_metropolis_completes_by_what_is_known() -> None:
    first = Metropolis(TABLE, Drop(SPACE, [1, 2]), ChangeOne(SPACE), completion="first")
    after = first.step(Sampler(0), LEFT[:1].expand(200, -1), given(200, math.inf))[0]
    assert len(set(map(tuple, after.tolist()))) > 1  # the first completion of S_y has another digit at site 1


def test_a_walk_whose_dropped_site_is_known_stands_still_and_a_guided_one_does_not() -> None:
    drop = Drop(SPACE, [1])
    still = transition_matrix(Uniform(TABLE, drop, ChangeOne(SPACE)), LEFT, given, SPACE)
    assert torch.allclose(still, torch.eye(len(LEFT), dtype=torch.float64))
    assert reaches_everything(transition_matrix(Guided(TABLE, drop), LEFT, given, SPACE))


@pytest.mark.parametrize("kind", WALKS, ids=lambda kind: kind.__name__)
def test_no_kernel_leaves_known_symbols(kind: type[Kernel]) -> None:
    make, ground = TABLES[Kernel][kind][:2]
    sites = [0, 1] if ground is SUM else [0, 3, 7, 12]
    known = torch.full_like(ground.z, -1)
    known[:, sites] = ground.z[:, sites]
    target = ground.target()
    target, z, dice = replace(target, weights=target.weights.given(known)), ground.z, Sampler(2)
    for _ in range(20):
        z, info = make().step(dice, z, target)
        assert torch.equal(z[:, sites], known[:, sites])
        assert ground.rule.feasible(z, target.answers).all()
        if info.marginals is not None:
            certain = one_hot(known[:, sites], info.marginals.shape[2])
            assert torch.allclose(info.marginals[:, sites].double(), certain.double())


def answers(inverse: Inverse, ground: Ground) -> Tensor:
    return getattr(inverse, "constraint", ground.rule).encode(ground.answers)


@pytest.mark.parametrize("kind", FINDERS, ids=lambda kind: kind.__name__)
def test_first_states_have_the_known_symbols(kind: type[Inverse]) -> None:
    make, ground = TABLES[Inverse][kind][:2]
    inverse, sites = make(), [0, 2]
    good = ground.rule.feasible(ground.z, ground.rule.encode(ground.answers))
    y, z = answers(inverse, ground)[good], ground.z[good]
    known = torch.full_like(z, -1)
    known[1:, sites] = z[1:, sites]  # the first example knows nothing
    known[-1] = z[-1]  # the last one everything
    start = start_given(inverse, y, 3, known)
    assert start.found.all()
    assert inverse.feasible(start.z, y).all()
    assert ((known < 0) | (start.z == known)).all()
    assert torch.equal(start.z, start_given(inverse, y, 3, known).z)


class FibresAlone(Inverse):
    """What a user's own inverse may be: it knows fibres and first states, and no law."""

    def __init__(self, inner: Inverse) -> None:
        self.inner, self.space, self.constraint = inner, inner.space, inner.constraint

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self.inner.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        return self.inner.start(y, seed)


@pytest.mark.parametrize("name", [*LAWS, "fibres alone"])
def test_first_states_are_everywhere_in_what_is_left_or_proved_absent(name: str) -> None:
    inverse, rows = FibresAlone(PROBLEM.padded) if name == "fibres alone" else LAWS[name](), 100
    y = inverse.constraint.encode([5] * rows) if name != "listing" else torch.zeros(rows, dtype=torch.long)
    known = KNOWN.repeat(rows, 1)
    known[-2:] = torch.tensor([[0, 0, -1], [0, 0, 0]])  # against the answer, in part and as a whole
    start = start_given(inverse, y, 0, known)
    assert set(map(tuple, start.z[:-2].tolist())) == set(map(tuple, LEFT.tolist()))
    assert start.found.tolist() == [True] * (rows - 2) + [False] * 2
    assert start.proved.all()


def test_a_search_with_fixed_sites_finds_states_of_a_space_too_large_to_list() -> None:
    space = Categorical([range(10)] * 8)
    program = Program(lambda *digits: sum(digits), space, vectorised=True)
    smt_rule = TABLES[Inverse][Z3][0]().rule.__class__(lambda z, y: sum(z) == y, space)
    known = torch.full((4, 8), -1)
    known[:, [1, 6]] = torch.tensor([9, 3])
    for inverse in (TABLES[Inverse][type(PROBLEM.enumeration)][0]().__class__(space, program), Z3(smt_rule, table=16)):
        y = inverse.constraint.encode([40] * 4)
        start = start_given(inverse, y, 0, known)
        assert start.found.all()
        assert (start.z[:, [1, 6]] == torch.tensor([9, 3])).all()
        assert inverse.feasible(start.z, y).all()


@pytest.mark.parametrize("kind", TABLES[Teacher], ids=lambda kind: kind.__name__)
def test_known_sites_are_learnt_from_labels_whatever_the_teacher(kind: type[Teacher]) -> None:
    make, ground = TABLES[Teacher][kind][:2]
    y = PROBLEM.program.encode(ground.answers)
    known = torch.full_like(ground.z, -1)
    known[:, 1] = ground.z[:, 1]
    lesson = Lesson(make(), TASK, y, known=known)
    noise = torch.randn(BATCH, SPACE.sites, SPACE.outputs, generator=torch.Generator().manual_seed(0))
    output = (2 * one_hot(ground.z, SPACE.outputs) + noise).double().requires_grad_()
    for seed in range(6):
        belief = SPACE.belief(output)
        outcome = lesson.loss(belief, dice=Sampler(seed), symbols=ground.z)
        (gradient,) = torch.autograd.grad(outcome.loss, output)
        assert gradient.isfinite().all()
        labels = belief.marginals()[:, 1] - one_hot(known[:, 1], SPACE.outputs)
        assert torch.allclose(gradient[:, 1], labels.detach() / (outcome.batch.weight > 0).sum())
        assert outcome.loss.isfinite()
        assert torch.equal(lesson.memory.get("chains", known)[:, 1], known[:, 1])


def test_the_semantic_loss_given_known_symbols_is_that_of_what_is_left() -> None:
    output = torch.randn(1, SPACE.sites, SPACE.outputs, dtype=torch.float64, requires_grad=True)
    belief, known = SPACE.belief(output), KNOWN[None]
    y = PROBLEM.program.encode([5])
    whole = TABLE.law(Target(belief.given(known), y, 1.0)).log_mass() + belief.log_known(known)
    brute = belief.rows(torch.zeros(len(LEFT), dtype=torch.long)).log_prob(LEFT).logsumexp(0)
    assert torch.allclose(whole, brute)
    assert torch.allclose(*(torch.autograd.grad(value.sum(), output, retain_graph=True)[0] for value in (whole, brute)))


def test_exact_steps_without_known_symbols_are_what_they_were() -> None:
    nothing = torch.full((BATCH, 3), -1)
    target = SUM.target()
    same = replace(target, weights=target.weights.given(nothing))
    assert torch.equal(same.weights.scores, target.weights.scores)
    assert torch.equal(
        Exact(Table(PROBLEM.program)).step(Sampler(0), SUM.z, same)[0], Exact(TABLE).step(Sampler(0), SUM.z, target)[0]
    )
