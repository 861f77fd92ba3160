"""What every member of a kind must do, whatever is particular to it: checks on a small one, made by a row of proofs."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from exhaustive import every_draw, transition_matrix
from lessons import Lesson
from proofs import BATCH, EVERYTHING, GAMMA, LINE, NONE, PROBLEM, SPACE, SUM, TASK, Ground
from softground.constraints import SMT, CPMpy
from softground.dice import Sampler
from softground.errors import ConstraintError, InverseError, LearnerError, NonFiniteOutput, SpaceError
from softground.inverses import Inverse
from softground.inverses.base import solver_behind
from softground.kernels import DirectWalk
from softground.projections import Dropped
from softground.target import Target
from softground.tasks.sdsp import Differences
from softground.training import Moment, SemanticLoss
from softground.training.step import step


def chance() -> list[Any]:
    """Where the generators stand that nobody may touch."""
    return [torch.get_rng_state().tolist(), random.getstate()]


def check_kernel(make: Any, ground: Ground) -> None:
    kernel, z, target, before = make(), ground.z, ground.target(), chance()
    after, info = kernel.step(Sampler(1), z.clone(), target)
    assert chance() == before
    assert torch.equal(after, kernel.step(Sampler(1), z, target)[0])  # the dice decide everything
    assert (after.shape, after.dtype) == (z.shape, z.dtype)
    assert ground.rule.feasible(after, target.answers).all()
    assert info.acceptance.shape == info.moved.shape == info.unknown.shape == (BATCH,)
    assert ((info.acceptance >= 0) & (info.acceptance <= 1)).all()
    assert torch.equal(info.moved, (after != z).any(-1))
    assert info.unknown.dtype == torch.bool
    assert info.marginals is None or info.marginals.shape == target.weights.marginals().shape
    if kernel.walks:
        with pytest.raises(LearnerError, match="no marginals without chains"):
            kernel.marginals_of(target)
    else:
        assert torch.equal(kernel.marginals_of(target), info.marginals)


def check_inverse(make: Any, ground: Ground) -> None:
    inverse, rule, z, before = make(), ground.rule, ground.z, chance()
    y, own = rule.encode(ground.answers), getattr(inverse, "constraint", rule).encode(ground.answers)
    for sites in itertools.combinations(range(min(5, rule.space.sites)), 2):
        fibre = inverse.fibre(z, own, Dropped(torch.tensor(sites).expand(BATCH, -1)))
        for row in range(BATCH):
            _check_fibre(rule, z[row], y[row], sites, fibre.values[row][fibre.mask[row]], bool(fibre.complete[row]))
    start = inverse.start(own, 0)
    assert start.found.tolist() == [answer is not NONE for answer in ground.answers]
    assert rule.feasible(start.z, y)[start.found].all()
    assert torch.equal(start.z, inverse.start(own, 0).z)
    assert torch.equal(inverse.feasible(z, own), rule.feasible(z, y))
    solver = solver_behind(inverse)
    assert all(isinstance(count, int) for count in (solver.faults if solver else {}).values())
    assert type(inverse.exact) is bool
    assert chance() == before
    try:
        inverse.law(ground.target(y=own))
    except InverseError:
        assert not inverse.exact
    else:
        _check_law(inverse, ground, own)


def _check_fibre(rule: Any, z: Tensor, y: Tensor, sites: tuple[int, ...], found: Tensor, complete: bool) -> None:
    categorical = rule.space.categorical
    options = torch.cartesian_prod(*(torch.arange(rule.space.sizes[i]) for i in sites)) if categorical else found
    states = z.expand(len(options), -1).clone()
    states[:, sites] = options
    feasible = rule.feasible(states, y.expand(len(options), *y.shape))
    assert found.tolist() == options[feasible].tolist()  # of reals: one completion, which is feasible
    assert complete or not categorical


def _check_law(inverse: Inverse, ground: Ground, own: Tensor) -> None:
    """Draws, marginals, mass and mode by brute force."""
    weights, full = ground.target().weights, [i for i, answer in enumerate(ground.answers) if answer is not NONE]
    mass = inverse.law(Target(weights, own, GAMMA)).log_mass()
    assert mass.isinf().tolist() == [answer is NONE for answer in ground.answers]
    law = inverse.law(Target(weights.rows(torch.tensor(full)), own[full], GAMMA))
    rule, space, y = ground.rule, ground.rule.space, ground.rule.encode(ground.answers)
    if not space.categorical:  # reals: whose law no list can tell
        assert all(rule.feasible(z, y).all() for z in (law.mode(), law.marginals(), law.draw(Sampler(0))))
        return
    everything = space.states(torch.arange(space.size))
    for row, marginals, mode in zip(full, law.marginals(), law.mode(), strict=True):
        states = everything[rule.feasible(everything, y[row].expand(len(everything)))]
        log_weight = weights.rows(torch.full((len(states),), row)).log_prob(states)
        assert torch.allclose(mass[row], log_weight.logsumexp(0))
        assert torch.equal(mode, states[log_weight.argmax()])
        hot = one_hot(states, space.width)
        assert torch.allclose(marginals, (log_weight.softmax(0)[:, None, None] * hot).sum(0))
        drawn = torch.zeros(space.size, dtype=torch.float64)
        for probability, z in every_draw(inverse, weights.rows(slice(row, row + 1)), own[row : row + 1]):
            drawn[space.index(z)] += probability
        assert torch.allclose(drawn[space.index(states)], log_weight.softmax(0), atol=1e-12)


def check_teacher(make: Any, ground: Ground) -> None:
    y, teacher, before = PROBLEM.program.encode(ground.answers), make(), chance()
    noise = torch.randn(BATCH, SPACE.sites, SPACE.outputs, generator=torch.Generator().manual_seed(0))
    output = (3 * one_hot(ground.z, SPACE.outputs) + noise).double().requires_grad_()  # some predictions are feasible

    def loss(lesson: Lesson, seed: int) -> Tensor:
        outcome = lesson.loss(SPACE.belief(output), dice=Sampler(seed), symbols=ground.z)
        assert all(value.shape == (BATCH,) for value in outcome.figures.values())
        return outcome.loss

    described = repr(teacher)
    one, other = Lesson(teacher, TASK, y, seed=0), Lesson(teacher, TASK, y, seed=1)  # which share a description
    (gradient,) = torch.autograd.grad(loss(one, 1), output)
    assert gradient.isfinite().all()
    assert gradient.abs().max() > 0
    assert all(len(value) == len(y) for value in one.memory.values())
    other.memory = {name: value.clone() for name, value in one.memory.items()}  # all that there is to remember
    assert torch.equal(loss(one, 2), loss(other, 2))
    numbers = one.teacher.numbers(Moment(epoch=3))
    assert json.loads(json.dumps(numbers)) == numbers
    assert repr(teacher) == described
    assert chance() == before


def check_term(make: Any, ground: Ground) -> None:
    y, term, before = PROBLEM.program.encode(ground.answers), make(), chance()
    output = torch.randn(BATCH, SPACE.sites, SPACE.outputs, generator=torch.Generator().manual_seed(0)).requires_grad_()
    described, teacher = repr(term), SemanticLoss()
    plain, lesson = Lesson(teacher, TASK, y), Lesson(teacher, TASK, y, terms=[term])
    x, order = torch.zeros(BATCH, SPACE.sites, 1), torch.Generator().manual_seed(0)
    found = []
    for each in (plain, lesson):
        batch = replace(each.batch(None, torch.arange(BATCH), order=order), x=x)
        loss = step(batch, lambda x: torch.cat([output, output[: len(x) - BATCH]]), each.teacher, each.terms)
        assert all(value.shape == (BATCH,) for value in batch.figures.values())
        found.append(torch.autograd.grad(loss, output)[0])
    assert found[1].isfinite().all()
    assert not torch.equal(*found)  # it takes part
    numbers = lesson.terms[0].numbers(Moment())
    assert json.loads(json.dumps(numbers)) == numbers
    assert repr(term) == described
    assert chance() == before


def check_schedule(make: Any, ground: Ground) -> None:
    assert all(isinstance(gamma, float) and gamma >= 0 for gamma in map(make().gamma, range(200)))


def check_space(make: Any, ground: Ground) -> None:
    space, shape = make(), ground.target().weights.marginals().shape
    output = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    belief, some = space.belief(output), torch.tensor([2, 0])
    z, mode, cold = belief.sample(Sampler(0)), belief.mode(), belief.tempered(0.5)
    log_prob, best = belief.log_prob(z), belief.log_prob(mode)
    assert len(belief) == len(log_prob) == BATCH
    assert z.shape == mode.shape == (BATCH, space.sites)
    assert (best >= log_prob - 1e-9).all()
    assert torch.allclose(cold.log_prob(mode) - cold.log_prob(z), 2 * (best - log_prob))
    assert torch.equal(belief.rows(some).log_prob(z[some]), log_prob[some])
    assert belief.marginal_log_prob(belief.marginals()).shape == (BATCH,)
    assert log_prob.requires_grad
    assert not belief.detach().log_prob(z).requires_grad
    assert torch.equal(space.encode(space.decode(z)), z)
    flat = space.uniform(BATCH, z.device)
    assert torch.equal(flat.log_prob(z), flat.log_prob(mode))
    with pytest.raises(SpaceError):
        space.belief(output[:, 1:])
    with pytest.raises(NonFiniteOutput):
        space.belief(output * math.nan)


def check_constraint(make: Any, ground: Ground) -> None:
    rule, z = make(), ground.z
    y = rule.encode(ground.answers)
    said = [{0: [0], 1: [1]}] * BATCH if ground is LINE else ground.answers  # reals: where the marks are
    assert [rule.answer(each) for each in y] == said
    assert rule.feasible(z, y).tolist() == rule.admissible(z).tolist() == [True] * BATCH
    wrong = z - 9 * torch.arange(rule.space.sites) if ground is LINE else torch.zeros_like(z)
    assert not rule.feasible(wrong, y).all()
    try:
        assert rule.compute(z) == ground.answers
    except ConstraintError:
        assert type(rule) in (SMT, CPMpy, Differences)


def check_projection(make: Any, ground: Ground) -> None:
    dropped = make().draw(Sampler(0), BATCH, torch.device("cpu"))
    assert torch.equal(dropped.sites, make().draw(Sampler(0), BATCH, torch.device("cpu")).sites)
    assert (dropped.kept(SPACE.sites).sum(1) == SPACE.sites - dropped.count).all()
    assert not dropped.shared or (dropped.sites == dropped.sites[0]).all()


def check_move(make: Any, ground: Ground) -> None:
    move, kept = make(), torch.ones_like(ground.z, dtype=torch.bool)
    kept[:, 0] = False
    after = move.propose(Sampler(0), ground.z, kept)
    assert torch.equal(after[:, 0], ground.z[:, 0])
    assert torch.equal(after, move.propose(Sampler(0), ground.z, kept))
    if ground is SUM:  # symmetric: a walk without a rule at γ = ∞ is as likely to go back
        matrix = transition_matrix(DirectWalk(move), EVERYTHING, lambda rows: PROBLEM.target(rows, math.inf), SPACE)
        assert torch.allclose(matrix, matrix.T, atol=1e-15)
