"""Tensors are made where the data are, whatever torch's default device is: shown by a default that holds no numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partialmethod
from typing import Any

import pytest
import torch

from checks import BATCH
from lessons import Lesson
from papers.li2023.baselines import MAPO, BackSearch, Reinforce
from proofs import SPACE, TABLES, TASK
from softground.constraints import All, Between, OneOf, Program, Scan, Sum
from softground.dice import Sampler
from softground.inverses import Enumeration, Inverse, Listing, Scanned, Table, solutions
from softground.inverses.base import start_given
from softground.inverses.circuit.inverse import Levels
from softground.inverses.composite import Composite, Group
from softground.kernels import Kernel
from softground.projections import Dropped, Move, Projection
from softground.spaces import Categorical
from softground.target import Target
from softground.training import Teacher, ZeroDegree

CPU = torch.device("cpu")
ELSEWHERE = torch.device("meta")
DEVICES: list[tuple[type, str]] = [(Categorical, "layout"), (Table, "columns"), (Scan, "tables")]
DEVICES += [(Listing, "states"), (Listing, "codes"), (Listing, "_indices")]
DEVICES += [(Levels, "groups"), (Levels, "places"), (Group, "sites")]


def rows(base: type) -> list[Any]:
    return [
        pytest.param(*row[:2], id=kind.__name__) for kind, row in TABLES[base].items() if row[1].rule.space.categorical
    ]


@pytest.fixture(autouse=True)
def _every_device_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps copies by device is never asked for the default one."""
    for kind, name in DEVICES:
        monkeypatch.setattr(kind, name, partialmethod(_named, getattr(kind, name)))


def _named(self: Any, inner: Any, device: Any) -> Any:
    assert isinstance(device, torch.device)
    return inner(self, device)


def same(here: Any, there: Any) -> None:
    """The same numbers, on the same device."""
    for a, b in zip(here, there, strict=True):
        assert type(a) is type(b)
        if isinstance(a, torch.Tensor):
            assert b.device == CPU
            assert torch.equal(a, b)


@pytest.mark.parametrize(("make", "ground"), rows(Kernel))
def test_kernels(make: Any, ground: Any) -> None:
    kernel, target = make(), ground.target()

    def step() -> list[Any]:
        after, info = kernel.step(Sampler(1), ground.z, target)
        return [after, info.acceptance, info.moved, info.unknown, info.marginals]

    here = step()
    with ELSEWHERE:
        same(here, step())


@pytest.mark.parametrize(("make", "ground"), rows(Inverse))
def test_inverses(make: Any, ground: Any) -> None:
    inverse = make()
    own = getattr(inverse, "constraint", ground.rule).encode(ground.answers)
    target = ground.target(y=own)

    def everything() -> list[Any]:
        found: list[Any] = [inverse.feasible(ground.z, own)]
        for sites in itertools.combinations(range(min(5, ground.rule.space.sites)), 2):
            fibre = inverse.fibre(ground.z, own, Dropped(torch.tensor(sites, device=CPU).expand(BATCH, -1)))
            found += [fibre.values, fibre.mask, fibre.complete]
        if inverse.exact:
            mass = inverse.law(target).log_mass()
            full = mass.isfinite().nonzero().squeeze(1)
            law = inverse.law(replace(target, weights=target.weights.rows(full), answers=own[full]))
            found += [mass, law.marginals(), law.mode(), law.draw(Sampler(0)), law.marginals()]
        if type(inverse) in (Table, Enumeration, Listing):
            listed, start = solutions(inverse, own), inverse.start(own, 0)
            found += [listed.index, listed.owner, listed.offsets, start.z, start.found, start.proved]
        return found

    here = everything()
    with ELSEWHERE:
        same(here, everything())


@pytest.mark.parametrize("sites", range(1, 8))
def test_scans_of_any_length(sites: int) -> None:
    """The tree has an odd block, or an odd position, at some lengths only."""
    space = Categorical([range(3)] * sites)
    inverse = Scanned(Scan(lambda total, digit: (total + digit) % 3, space))
    y = inverse.scan.encode([0, 1, 2])
    output = torch.randn(3, sites, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    target = Target(space.belief(output), y, 1.0)

    class Choices(Sampler):
        def categorical(self, log_weights: torch.Tensor) -> torch.Tensor:
            assert log_weights.shape[1] > 1  # what is certain takes no chance
            return super().categorical(log_weights)

    def everything() -> list[Any]:
        law, start = inverse.law(target), inverse.start(y, 0)
        z = law.draw(Choices(0))
        found = [z, law.mode(), law.marginals(), law.log_mass(), start.z, inverse.scan.admissible(z)]
        return [*found, inverse.feasible(z, y), inverse.feasible(torch.zeros_like(z), y)]

    here = everything()
    with ELSEWHERE:
        same(here, everything())


def test_relations_and_ensembles() -> None:
    space = Categorical([range(4)] * 3)
    rule = Program(lambda a, b, c: a + b + c, space, vectorised=True)
    inverse, y = Table(rule), rule.encode([5, 2])
    related = rule.encode([OneOf(3, 5), Between(2, 4)])
    output = torch.randn(2, 3, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    states = space.states(torch.arange(space.size))
    known = torch.tensor([[1, -1, -1], [-1] * 3])

    def everything() -> list[Any]:
        law, start = inverse.law(Target(space.belief(output), y, 1.0)), start_given(inverse, y, 0, known)
        held = [rule.feasible(states, each.expand(len(states), *each.shape)) for each in related]
        return [*held, law.mode(), law.marginals(), law.entropy(), start.z, start.found, start.proved]

    here = everything()
    with ELSEWHERE:
        same(here, everything())


@pytest.mark.parametrize(("make", "ground"), rows(Teacher))
def test_teachers(make: Any, ground: Any) -> None:
    y = ground.rule.encode(ground.answers)
    output = torch.randn(BATCH, SPACE.sites, SPACE.outputs, generator=torch.Generator().manual_seed(0))
    lesson = Lesson(make(), TASK, y)
    begun = {name: value.clone() for name, value in lesson.memory.items()}

    def loss() -> list[Any]:
        lesson.memory = {name: value.clone() for name, value in begun.items()}
        outcome = lesson.loss(SPACE.belief(output), torch.arange(BATCH, device=CPU), Sampler(0), symbols=ground.z)
        return [outcome.loss, *outcome.figures.values(), *lesson.memory.values()]

    here = loss()
    with ELSEWHERE:
        same(here, loss())


@pytest.mark.parametrize("make", [MAPO, Reinforce, BackSearch, ZeroDegree])
def test_memories(make: Any) -> None:
    with ELSEWHERE:
        lesson = Lesson(make(), TASK, torch.zeros(BATCH, dtype=torch.long, device=CPU))
    assert all(value.device == CPU for value in lesson.memory.values())


@pytest.mark.parametrize(("make", "ground"), rows(Projection))
def test_projections(make: Any, ground: Any) -> None:
    projection = make()
    here = projection.draw(Sampler(0), BATCH, CPU)
    with ELSEWHERE:
        there = projection.draw(Sampler(0), BATCH, CPU)
        same([here.sites, here.kept(SPACE.sites)], [there.sites, there.kept(SPACE.sites)])


@pytest.mark.parametrize(("make", "ground"), rows(Move))
def test_moves(make: Any, ground: Any) -> None:
    move, kept = make(), torch.ones_like(ground.z, dtype=torch.bool)
    here = move.propose(Sampler(0), ground.z, kept)
    with ELSEWHERE:
        same([here], [move.propose(Sampler(0), ground.z, kept)])


def test_the_sites_of_parts_are_copied_where_they_are_asked_for() -> None:
    (group,) = Composite(All([Sum([0, 1]), Sum([1, 2])], Categorical([range(3)] * 3))).groups
    for _ in range(2):
        there = group.sites(ELSEWHERE)
        assert (there.device, there.shape) == (ELSEWHERE, (2, 2))
