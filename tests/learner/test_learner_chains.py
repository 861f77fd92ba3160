"""Chains stay inside S_y whatever happens; a solver that gives up costs a move, never a chain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from learner_cases import adam, addition, chains_of, examples, kernel, make_learner
from softground import Learner, Stage, Task, grounding_stages
from softground.dice import Dice, stream
from softground.inverses import Enumeration, Table
from softground.inverses.base import Fibre, Solving, Start
from softground.kernels import Info, Kernel
from softground.projections import Dropped
from softground.schedules import Constant, Exponential, Linear, Logarithmic
from softground.target import Target
from softground.training import SoftenedGrounding, ZeroDegree

KERNELS = ["guided", "collapsed", "uniform", "metropolis"]


def watched(task: Task, name: str, schedule: Any, **settings: Any) -> list[Tensor]:
    """Train for three epochs; the chains after every batch and epoch."""
    objective = SoftenedGrounding(kernel(name, task), schedule, steps=3)
    seen: list[Tensor] = []

    def look(event: str, facts: dict[str, Any]) -> None:
        if event in ("batch", "epoch"):
            seen.append(chains_of(learner).clone())

    data = examples(task, 100)
    learner = make_learner(task, [Stage("I", objective, 3, adam), Stage("II", ZeroDegree(), 1, adam)], **settings)
    learner.fit(data, observer=look)
    y = task.constraint.encode(data.y)
    for chains in seen:
        assert task.constraint.feasible(chains, y).all()
    return seen


@pytest.mark.parametrize("tabulated", [True, False], ids=["table", "enumeration"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_chain_never_holds_an_infeasible_state(name: str, tabulated: bool) -> None:
    seen = watched(addition(tabulated=tabulated), name, Exponential(1.0, 0.5))
    assert not torch.equal(seen[0], seen[-1])


@pytest.mark.parametrize("schedule", [Constant(1.0, warmup=2), Linear(1.0, 0.4), Logarithmic(0.5)], ids=repr)
def test_nor_under_any_schedule_warm_up_included(schedule: Any) -> None:
    watched(addition(), "guided", schedule)


def test_the_next_stage_leaves_the_chains_where_they_were() -> None:
    seen = watched(addition(), "guided", Constant(1.0))
    assert torch.equal(seen[-1], seen[-5])  # four batches of stage II in between


@dataclass
class Exhausted(Solving):
    """An inverse whose solver gives up on some answers, once the chains have started."""

    inner: Table | Enumeration
    hard: tuple[int, ...]  # encoded answers
    solver_seconds: float = 0.0
    asked: int = 0

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        return self.inner.feasible(z, y)

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        self.solver_seconds += 0.001
        fibre = self.inner.fibre(z, y, dropped)
        lost = torch.isin(y, torch.tensor(self.hard))
        self.asked += int(lost.sum())
        return replace(fibre, mask=fibre.mask & ~lost[:, None], complete=~lost)

    def start(self, y: Tensor, seed: int) -> Start:
        return self.inner.start(y, seed)


def with_unknowns(name: str, tabulated: bool) -> tuple[Learner, Tensor, Tensor, Exhausted]:
    base = addition(tabulated=tabulated)
    data = examples(base, 96)
    y = base.constraint.encode(data.y)
    hard = tuple(base.constraint.encode([3, 4]).tolist())
    inverse = Exhausted(base.inverse, hard)  # type: ignore[arg-type]
    task = Task(base.space, base.constraint, inverse)
    objective = SoftenedGrounding(kernel(name, task), Constant(1.0), steps=2)
    learner = make_learner(task, [Stage("I", objective, 3, adam)]).fit(data)
    return learner, torch.isin(y, torch.tensor(hard)), chains_of(learner), inverse


@pytest.mark.parametrize("tabulated", [True, False], ids=["table", "enumeration"])
@pytest.mark.parametrize("name", KERNELS)
def test_unknown_keeps_the_chain_and_is_counted(name: str, tabulated: bool) -> None:
    learner, hard, chains, inverse = with_unknowns(name, tabulated)
    base = addition(tabulated=tabulated)
    y = base.constraint.encode(examples(base, 96).y)
    begun = inverse.start(y, stream(0, "start I")).z
    assert inverse.asked > 0
    assert torch.equal(chains[hard], begun[hard])
    assert (chains[~hard] != begun[~hard]).any()
    for record in learner.history_:
        assert record["unknown"] == pytest.approx(hard.double().mean().item())
    assert base.constraint.feasible(chains, y).all()


def test_an_incomplete_fibre_that_holds_something_still_moves_nobody_who_needs_all_of_it() -> None:
    """Cut off at a cap, a fibre has completions but not all: exact kernels stay, and say unknown."""

    class Capped(Exhausted):
        def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
            fibre = self.inner.fibre(z, y, dropped)
            return replace(fibre, complete=torch.zeros_like(fibre.complete))

    base = addition()
    task = Task(base.space, base.constraint, Capped(base.inverse, ()))  # type: ignore[arg-type]
    for name in ("guided", "collapsed", "uniform"):
        objective = SoftenedGrounding(kernel(name, task), Constant(1.0))
        with pytest.warns(UserWarning, match="Chains stand still"):
            learner = make_learner(task, [Stage("I", objective, 2, adam)]).fit(examples(base, 40))
        assert [r["unknown"] for r in learner.history_] == [1.0, 1.0]
        assert [r["moved"] for r in learner.history_] == [0.0, 0.0]


def test_an_epoch_walks_at_its_own_temperature() -> None:
    """The γ that the kernel gets, not the one that is recorded; and P(z|x) is tempered by it."""
    task, seen = addition(), []
    inner = kernel("guided", task)

    class Notes(Kernel):
        def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
            seen.append((target.gamma, float(target.weights.scores.logsumexp(-1).abs().max()) < 1e-5))
            return inner.step(dice, z, target)

    schedule = Exponential(2.0, 0.5, warmup=1)
    make_learner(task, [Stage("I", SoftenedGrounding(Notes(), schedule), 4, adam)], batch_size=32).fit(
        examples(task, 64)
    )
    assert [gamma for gamma, _ in seen] == [math.inf, math.inf, 2.0, 2.0, 1.0, 1.0, 0.5, 0.5]
    assert [normalised for _, normalised in seen[2:]] == [False] * 2 + [True] * 2 + [False] * 2  # log P / γ


def test_seconds_in_the_solver_are_told_apart_from_sampling() -> None:
    learner, _, _, inverse = with_unknowns("uniform", tabulated=True)
    assert sum(r["seconds"]["solver"] for r in learner.history_) == pytest.approx(inverse.solver_seconds)


def test_chains_are_kept_per_example_across_epochs() -> None:
    """With uniform sampling of a frozen network a chain's place after an epoch is where the next one starts."""
    task = addition()
    stages = grounding_stages(task, kernel("uniform", task), Constant(1e-3), epochs=4, steps=1, optimizer=adam)
    history = make_learner(task, stages).fit(examples(task)).history_
    assert history[-1]["moved"] < history[0]["moved"]  # cold chains settle; fresh ones each epoch would not
