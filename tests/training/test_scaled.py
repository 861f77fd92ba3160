"""Scaled grounding: Q* of P over the network's own usage, against enumeration; and the collapse that it prevents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import softground as sg
from lessons import Lesson
from softground import Categorical, Program, Task
from softground.experiments import Experiment
from softground.kernels import Exact
from softground.learner.recording import asks_nothing
from softground.schedules import Constant
from softground.training import SoftenedGrounding
from softground.training.scaled import LEAST, USAGE, Scaled
from softground.training.step import Moment

MIXED = Categorical([(0, 1, 2), ("+", "-"), (1, 2, 0)])


def signed(a: int, sign: str, b: int) -> int:
    return a + b if sign == "+" else a - b


def outputs(space: Categorical, rows: int = 4, seed: int = 0) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(rows, space.sites, space.outputs, generator=chance, dtype=torch.float64)).requires_grad_()


def usage(space: Categorical, output: Tensor, known: Tensor | None = None) -> Tensor:
    """u(s), added up symbol by symbol."""
    every = output.softmax(-1)  # one column per symbol of the space
    free = torch.ones(every.shape[:2], dtype=torch.bool) if known is None else known < 0
    return (every * free[..., None]).sum((0, 1)) / free.sum()


@pytest.mark.parametrize("gamma", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("share", [0.0, 0.625, 0.8])
@pytest.mark.parametrize("pinned", [False, True])
def test_the_slope_is_that_of_the_scaled_law(gamma: float, share: float, pinned: bool) -> None:
    rule = Program(signed, MIXED)
    task, output = Task(MIXED, rule), outputs(MIXED)
    y = rule.encode([3, 0, 2, 1])
    known = torch.full((4, 3), -1)
    if pinned:
        known[0, 1], known[2, 0] = 0, 1
    teacher = SoftenedGrounding(Exact(task.inverse), Constant(gamma))
    lesson = Lesson(teacher, task, y, known=known if pinned else None, terms=[Scaled()])
    outcome = lesson.loss(MIXED.belief(output), moment=Moment(begun=share))
    (slope,) = torch.autograd.grad(outcome.loss, output)

    leaf = output.detach().requires_grad_()
    belief, states = MIXED.belief(leaf), MIXED.states(torch.arange(MIXED.size))
    u, c = usage(MIXED, output.detach(), known).clamp(min=LEAST), Scaled().numbers(Moment(begun=share))["scaling"]
    column = torch.tensor([[MIXED.symbols.index(s) for s in state] for state in MIXED.decode(states)])
    total = torch.zeros((), dtype=torch.float64)
    for row in range(4):
        mine = states[rule.feasible(states, y[row].expand(len(states)))]
        own = column[rule.feasible(states, y[row].expand(len(states)))]
        held = ((known[row] < 0) | (mine == known[row])).all(1)
        mine, own = mine[held], own[held]
        log_p = belief.scores[row].gather(1, mine.T).T  # [states, sites]
        free = known[row] < 0
        h = ((log_p.detach() - c * u[own].log()) * free).sum(1) / gamma
        total = total - (h.softmax(0)[:, None] * log_p).sum() / (4 * 3)
    (expected,) = torch.autograd.grad(total, leaf)
    assert torch.allclose(slope, expected, atol=1e-12)


def test_it_serves_teachers_that_sum_over_solutions_alone() -> None:
    assert Scaled().serves(SoftenedGrounding())
    assert Scaled().serves(sg.training.CompositeLikelihood())
    assert not any(Scaled().serves(teacher) for teacher in (sg.training.ZeroDegree(), sg.training.Supervised()))


@pytest.mark.parametrize("case", ["one symbol", "never read", "all known", "few sites"])
def test_odd_batches_are_finite(case: str) -> None:
    space = Categorical([range(40)] * 2 if case == "few sites" else [range(4)] * 2)
    rule = Program(lambda a, b: a + b, space)
    task, output = Task(space, rule), outputs(space, rows=3)
    if case in ("one symbol", "never read"):
        with torch.no_grad():
            output[..., 0] += 60 if case == "one symbol" else -300
    known = torch.zeros(3, 2, dtype=torch.long) if case == "all known" else None
    y = rule.encode([0, 0, 0] if case == "all known" else [2, 3, 4])
    lesson = Lesson(SoftenedGrounding(Exact(task.inverse)), task, y, known=known, terms=[Scaled()])
    for _ in range(2):
        outcome = lesson.loss(space.belief(output))
        assert outcome.loss.isfinite()
        assert torch.autograd.grad(outcome.loss, output)[0].isfinite().all()
    assert (USAGE in lesson.memory) == (case in ("few sites", "never read", "one symbol", "all known"))


@pytest.mark.parametrize(("symbols", "able"), [(4, True), (40, False)])
def test_a_running_mean_is_not_recorded(symbols: int, able: bool) -> None:
    space = Categorical([range(symbols)] * 2)
    rule = Program(lambda a, b: a + b, space)
    lesson = Lesson(SoftenedGrounding(), Task(space, rule), rule.encode([2, 3, 4] * 3), terms=[Scaled()])
    output = outputs(space, rows=9).detach()
    batch = lesson.batch(space.belief(output))
    batch.reading = batch.evidence = space.belief(output)
    assert asks_nothing(lambda: lesson.terms[0].evidence(batch)) == able


@dataclass(frozen=True)
class Cooling(sg.schedules.Schedule):
    """γ from 4 to 1 over four epochs."""

    def gamma(self, t: int) -> float:
        return max(1.0, 4 - 0.75 * t)


def test_without_it_symbols_are_merged() -> None:
    def correct(**settings: Any) -> float:
        options = {"network": "strided", "augment": False, "epochs": 8, "seed": 2}
        experiment = Experiment.named("evenodd", device="cpu", evaluate_every=99, **options)
        stages = [
            sg.Stage("I", SoftenedGrounding(None, Cooling()), 8, lambda p: torch.optim.AdamW(p, lr=3e-3), **settings)
        ]
        learner = sg.Learner(experiment.task, experiment.network, stages, seed=2, device="cpu")
        learner.fit(experiment.train, experiment.test, quiet=True)
        return float(learner.results_["I"]["up_to_shift_accuracy"])

    assert correct(scaled=True) > 0.95
    assert correct() < 0.8
