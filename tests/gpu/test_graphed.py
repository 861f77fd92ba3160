"""Recorded steps on a GPU are the steps themselves, draw for draw; on a CPU nothing is recorded."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from problems import PROBLEMS
from softground.dice import Sampler
from softground.gpu import Graphed, Recorded
from softground.inverses import Scanned, Table
from softground.inverses.composite import composite
from softground.kernels import Collapsed, Composed, Exact, Guided, Kernel, Metropolis, Uniform
from softground.projections import ChangeOne, RandomDrop
from softground.reals import PointMass
from softground.reals.gaussian import GaussianBelief
from softground.target import Target
from softground.tasks.addition import addition_task
from softground.tasks.sdsp import random_graphs, sdsp_task
from softground.tasks.sudoku import sudoku_task

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="recordings need a GPU, and torch sees none")
PROBLEM = PROBLEMS[0]
TABLE: Any = PROBLEM.table
FAMILY, MOVE = RandomDrop(PROBLEM.space, PROBLEM.drops), ChangeOne(PROBLEM.space)
KERNELS = {
    "exact": Exact(TABLE),
    "metropolis": Metropolis(TABLE, FAMILY, MOVE),
    "uniform": Uniform(TABLE, FAMILY, MOVE),
    "collapsed": Collapsed(TABLE, FAMILY, MOVE, marginals=True),
    "guided": Guided(TABLE, FAMILY, marginals=True),
    "composed": Composed([Guided(TABLE, FAMILY), Uniform(TABLE, FAMILY, MOVE)]),
}


def walk(kernel: Any, device: str, steps: int = 6, batch: int = 8) -> list[Any]:
    """States and marginals of some steps at two temperatures, and where the generator stands."""
    dice = Sampler(0, device)
    y = TABLE.program.encode([PROBLEM.answer]).expand(batch).to(device)
    z = PROBLEM.states[:1].expand(batch, -1).to(device)
    seen: list[Any] = []
    for step in range(steps):
        scores = PROBLEM.belief(batch, seed=step).scores.to(device)
        target = Target.at(type(PROBLEM.belief(1))(PROBLEM.space, scores), y, 1.0 if step < 3 else 0.5)
        state, info = kernel.step(dice, z, target)
        z = state.clone()
        seen += [z.cpu(), None if info.marginals is None else info.marginals.clone().cpu()]
    return [*seen, dice.state()]


@needs_gpu
@pytest.mark.parametrize("name", KERNELS)
def test_recorded_steps_are_the_steps_themselves(name: str) -> None:
    plain, recorded = walk(KERNELS[name], "cuda"), walk(Graphed(KERNELS[name]), "cuda")
    for one, other in zip(plain, recorded, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one.double(), other.double(), atol=1e-12)


@needs_gpu
def test_a_scans_steps_can_be_recorded() -> None:
    task = addition_task(3)
    scan: Any = task.constraint
    y = scan.encode([123, 999, 1998, 0]).cuda()
    belief = task.space.belief(torch.randn(4, 6, 10, generator=torch.Generator().manual_seed(0)).cuda())
    z = task.inverse.start(y, 0).z
    results = []
    for kernel in (Exact(Scanned(scan)), Graphed(Exact(Scanned(scan)))):
        dice = Sampler(1, "cuda")
        for _ in range(4):
            state, info = kernel.step(dice, z, Target.at(belief, y, 1.0))
        assert info.marginals is not None
        results.append((state.clone(), info.marginals.clone()))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.allclose(results[0][1], results[1][1], atol=1e-12)


@needs_gpu
def test_the_nearest_point_is_found_in_one_recording() -> None:
    task = sdsp_task(30, margin=1.0)
    graphs = random_graphs(8, 30, 0)
    y = task.constraint.encode(graphs.examples().y).cuda()
    belief, z = GaussianBelief(0.7 * graphs.distances.cuda(), 0.0), task.inverse.start(y, 0).z
    kernel = Graphed(PointMass(task.inverse))
    for _ in range(3):
        point, _ = kernel.step(Sampler(0, "cuda"), z, Target(belief, y, 0.0))
    assert not kernel._refused
    assert bool(task.feasible(point, y).all())
    plain, _ = PointMass(task.inverse).step(
        Sampler(0), z.cpu(), Target(GaussianBelief(belief.mean.cpu(), 0.0), y.cpu(), 0.0)
    )
    assert torch.allclose(point.cpu(), plain, atol=1e-2)


@needs_gpu
def test_a_step_that_asks_for_values_falls_back_and_says_so() -> None:
    class Asking(Kernel):
        def step(self, dice: Any, z: Any, target: Any) -> Any:
            dice.uniform(int(z.sum()) * 0 + 3)
            return KERNELS["exact"].step(dice, z, target)

        def static(self, target: Any) -> bool:
            return True

    with pytest.warns(UserWarning, match="cannot be recorded"):
        recorded = walk(Graphed(Asking()), "cuda")
    for one, other in zip(walk(Asking(), "cuda"), recorded, strict=True):
        assert one is None or torch.equal(one, other)


def test_kernels_say_whether_their_steps_can_be_recorded() -> None:
    y = TABLE.program.encode([PROBLEM.answer])
    target = Target.at(PROBLEM.belief(1), y, 1.0)
    assert KERNELS["composed"].static(target)
    assert not Exact(PROBLEM.ragged).static(target)
    assert Exact(PROBLEM.padded).static(target)
    unsolvable = Table(type(TABLE.program)(TABLE.program.function, PROBLEM.space, vectorised=True), _padded=True)
    unsolvable.program.encode([10**6])
    assert not Exact(unsolvable).static(target)
    assert not Uniform(PROBLEM.enumeration, FAMILY, MOVE).static(target)
    assert not Composed([KERNELS["exact"], Uniform(PROBLEM.enumeration, FAMILY, MOVE)]).static(target)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
def test_the_parts_of_a_rule_are_recorded_as_one(device: str) -> None:
    """What is played back is what is computed, for boards of two numbers; and nothing asks the device for a value."""
    parts = composite(sudoku_task(9).constraint)
    recorded = Recorded(parts.marginals)
    for batch in (2, 3, 2):
        scores = torch.randn(batch, 81, 9, generator=torch.Generator().manual_seed(batch)).log_softmax(-1).to(device)
        answers = parts.answers(torch.zeros(batch, dtype=torch.long, device=device))
        assert parts.static(scores, answers)
        found = recorded(scores, *answers)
        assert torch.allclose(found, parts.marginals(scores, *answers))
        assert torch.allclose(found.sum(-1), torch.full_like(found[..., 0], 3.0))  # a row, a column and a box
    assert not recorded.refused
    assert len(recorded._recordings) == (2 if device == "cuda" else 0)
