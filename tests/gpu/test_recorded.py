"""Half a step played back on a GPU is that half, draw for draw; on a CPU nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from lessons import Lesson
from problems import PROBLEMS
from softground.constraints import OneOf
from softground.dice import Sampler
from softground.inverses import Scanned, Table
from softground.inverses.composite import composite
from softground.kernels import Collapsed, Composed, Exact, Guided, Kernel, Metropolis, Uniform
from softground.learner import recording
from softground.learner.recording import PATIENCE, Recorded, RecordedHalf, asks_nothing
from softground.projections import ChangeOne, RandomDrop
from softground.reals import PointMass
from softground.reals.gaussian import GaussianBelief
from softground.schedules import Constant
from softground.target import Target
from softground.task import Task
from softground.tasks.addition import addition_task
from softground.tasks.sdsp import random_graphs, sdsp_task
from softground.tasks.sudoku import sudoku_task
from softground.training import Moment, SoftenedGrounding, Usage
from softground.training.step import Half, lesson

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="recordings need a GPU, and torch sees none")
PROBLEM = PROBLEMS[0]
TABLE: Any = PROBLEM.table
FAMILY, MOVE = RandomDrop(PROBLEM.space, PROBLEM.drops), ChangeOne(PROBLEM.space)
TASK = Task(PROBLEM.space, PROBLEM.program, TABLE)
KERNELS = {
    "exact": Exact(TABLE),
    "exact, drawn": Exact(TABLE, marginals=False),
    "metropolis": Metropolis(TABLE, FAMILY, MOVE),
    "uniform": Uniform(TABLE, FAMILY, MOVE),
    "collapsed": Collapsed(TABLE, FAMILY, MOVE, marginals=True),
    "guided": Guided(TABLE, FAMILY, marginals=True),
    "composed": Composed([Guided(TABLE, FAMILY), Uniform(TABLE, FAMILY, MOVE)]),
}


class Falls(Constant):
    """Two temperatures, some epochs each."""

    def gamma(self, t: int) -> float:
        return 1.0 if t < 6 else 0.5


def walk(kernel: Kernel, task: Task, y: torch.Tensor, recorded: bool, steps: int = 12) -> list[Any]:
    """Losses, slopes, readings, figures and chains of some batches, and where the generator stands."""
    made = Lesson(SoftenedGrounding(kernel, Falls(1.0)), task, y, terms=[Usage()])
    dice, seen = Sampler(0, y.device), list[Any]()
    half: Half = RecordedHalf(lesson, dice) if recorded else lesson
    index = torch.arange(len(y), device=y.device)
    for step in range(steps):
        shape = (len(y), task.space.sites, task.space.outputs)
        output = torch.randn(shape, generator=torch.Generator().manual_seed(step)).to(y.device).requires_grad_()
        batch = replace(made.batch(None, index, dice, moment=Moment(epoch=step)), output=output)
        loss = half(batch, made.teacher, made.terms)
        seen += [loss.detach(), *torch.autograd.grad(loss, output), batch.read, *batch.figures.values()]
        seen += [value.clone() for value in batch.memory.values()]
    assert not isinstance(half, RecordedHalf) or not recording.recordable(y) or any(half._recorded.values())
    return [*seen, dice.state()]


def same(plain: list[Any], recorded: list[Any]) -> None:
    for one, other in zip(plain, recorded, strict=True):
        assert torch.allclose(one.double(), other.double(), atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("name", KERNELS)
def test_recorded_halves_are_the_halves_themselves(name: str, device: str) -> None:
    y = TABLE.program.encode([PROBLEM.answer]).repeat(8).to(device)
    same(*(walk(KERNELS[name], TASK, y, recorded) for recorded in (False, True)))


class Overwriting:
    """Stands for a recording on a GPU: its results live where the next call puts its own."""

    def __init__(self, function: Callable[..., tuple[Tensor, ...]], *rest: Any) -> None:
        self.function, self.kept = function, dict[int, tuple[Tensor, ...]]()

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        found = self.function(*(part.clone() for part in inputs))
        kept = self.kept.setdefault(len(inputs[0]), tuple(part.clone() for part in found))
        for mine, given in zip(kept, found, strict=True):
            mine.copy_(given)
        return kept


@pytest.mark.parametrize("name", KERNELS)
def test_what_a_recording_overwrites_was_taken_from_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Imitated on a CPU, where a rehearsal tells the same as on a GPU."""
    y = TABLE.program.encode([PROBLEM.answer]).repeat(8)
    plain = walk(KERNELS[name], TASK, y, False)
    monkeypatch.setattr(recording, "recordable", lambda *inputs: True)
    monkeypatch.setattr(recording, "Recorded", Overwriting)
    # torch's own looks at the codes, on a CPU alone.
    monkeypatch.setattr("softground.kernels.base.one_hot", lambda z, n: (z[..., None] == torch.arange(n)).long())
    same(plain, walk(KERNELS[name], TASK, y, True))


@needs_gpu
def test_a_scans_half_can_be_recorded() -> None:
    task = addition_task(3)
    y = task.constraint.encode([123, 999, 1998, 0]).cuda()
    for marginals in (True, False):
        kernel = Exact(Scanned(task.constraint), marginals)  # type: ignore[arg-type]
        same(*(walk(kernel, task, y, recorded) for recorded in (False, True)))


@needs_gpu
def test_the_nearest_point_is_found_in_one_recording() -> None:
    task = sdsp_task(30, margin=1.0)
    graphs = random_graphs(8, 30, 0)
    y = task.constraint.encode(graphs.examples().y).cuda()
    belief, z = GaussianBelief(0.7 * graphs.distances.cuda(), 0.0), task.inverse.start(y, 0).z
    kernel, dice = PointMass(task.inverse), Sampler(0, "cuda")
    recorded = Recorded(lambda z, y, mean: kernel.step(dice, z, Target(GaussianBelief(mean, 0.0), y, 0.0))[0])
    for _ in range(3):
        point = recorded(z, y, belief.mean)
    assert not recorded.refused
    assert bool(task.feasible(point, y).all())
    plain, _ = kernel.step(Sampler(0), z.cpu(), Target(GaussianBelief(belief.mean.cpu(), 0.0), y.cpu(), 0.0))
    assert torch.allclose(point.cpu(), plain, atol=1e-2)


@needs_gpu
def test_a_step_that_asks_for_values_is_never_recorded() -> None:
    class Asking(Kernel):
        def step(self, dice: Any, z: Any, target: Any) -> Any:
            dice.uniform(int(z.sum()) * 0 + 3)
            return KERNELS["exact, drawn"].step(dice, z, target)

    y = TABLE.program.encode([PROBLEM.answer]).repeat(8).cuda()
    made = Lesson(SoftenedGrounding(Asking(), Constant(1.0)), TASK, y)
    half = RecordedHalf(lesson, Sampler(0, "cuda"))
    for _ in range(PATIENCE + 2):
        output = torch.zeros(8, PROBLEM.space.sites, PROBLEM.space.outputs, device="cuda", requires_grad=True)
        batch = replace(made.batch(None, torch.arange(8, device="cuda"), half.dice), output=output)
        half(batch, made.teacher, [])
    assert list(half._recorded.values()) == [None]


def test_a_rehearsal_tells_which_laws_ask_for_values() -> None:
    def asks(inverse: Any, answer: Any) -> bool:
        y = inverse.constraint.encode([answer])
        law = inverse.law(Target.at(PROBLEM.belief(1), y, 1.0))
        law.marginals()  # what is kept is made once
        return not asks_nothing(law.marginals)

    assert asks(PROBLEM.ragged, PROBLEM.answer)
    assert not asks(PROBLEM.padded, PROBLEM.answer)
    unsolvable = Table(type(TABLE.program)(TABLE.program.function, PROBLEM.space, vectorised=True), _padded=True)
    assert not asks(unsolvable, PROBLEM.answer)
    unsolvable.program.encode([10**6])
    assert asks(unsolvable, PROBLEM.answer)
    assert asks(PROBLEM.enumeration, PROBLEM.answer)
    assert asks(PROBLEM.padded, OneOf(1, 2))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
def test_the_parts_of_a_rule_are_recorded_as_one(device: str) -> None:
    """What is played back is what is computed, for boards of two numbers; and nothing asks the device for a value."""
    parts = composite(sudoku_task(9).constraint)
    recorded = Recorded(parts.marginals)
    for batch in (2, 3, 2):
        scores = torch.randn(batch, 81, 9, generator=torch.Generator().manual_seed(batch)).log_softmax(-1).to(device)
        answers = parts.answers(torch.zeros(batch, dtype=torch.long, device=device))
        found = recorded(scores, *answers)
        assert torch.allclose(found, parts.marginals(scores, *answers))
        assert torch.allclose(found.sum(-1), torch.full_like(found[..., 0], 3.0))  # a row, a column and a box
    assert not recorded.refused
    assert len(recorded._recordings) == (2 if device == "cuda" else 0)
