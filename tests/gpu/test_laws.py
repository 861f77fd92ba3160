"""Laws on a GPU are those on the CPU: every tensor that they keep is where the answers are.

Each case runs on the CPU too, so that it is known to work before a GPU sees it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

import softground as sg
from softground.inverses.base import Start
from softground.target import Target
from softground.task import Task
from softground.tasks.kandinsky import KandLogic
from softground.tasks.sums import sums_task
from softground.tasks.validity import Validity

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU, and torch sees none")
    ),
]


def program() -> Task:
    space = sg.Categorical([range(10)] * 3)
    return sg.Task(space, sg.Program(lambda a, b, c: a * b + c, space, vectorised=True))


def short_sum() -> Task:
    space = sg.Categorical([range(10)] * 4)
    return sg.Task(space, sg.Scan(operator.add, space, vectorised=True))


CASES: dict[str, tuple[Callable[[], Task], list[Any]]] = {
    "a table": (program, [17, 40, sg.Between(3, 9)]),
    "a scan": (short_sum, [7, 30, 18]),
    "a scan with relations": (short_sum, [7, sg.Not(30), sg.OneOf(1, 2)]),
    "a long sum": (lambda: sums_task(128), [500, 600, 9 * 128]),
    "scenes": (lambda: KandLogic().task(), [True, False, True]),
    "boards": (lambda: Validity().task(), [True, True, True]),
    "boards that are not valid": (lambda: Validity().task(), [True, sg.Not(True), None]),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_a_law_is_the_same_everywhere(name: str, device: str) -> None:
    make, answers = CASES[name]
    task = make()
    scores = torch.randn(len(answers), task.space.sites, task.space.width, generator=torch.Generator().manual_seed(0))

    def found(place: str) -> list[torch.Tensor]:
        y = task.constraint.encode(answers).to(place)
        law = task.inverse.law(Target(task.space.belief(scores.double().to(place)), y, 1.0))
        start: Start = task.inverse.start(y, 0)
        drawn = law.draw(sg.dice.Sampler(0, place))
        assert {tensor.device.type for tensor in (start.z, start.found, drawn)} == {place}
        assert bool(start.found.all())
        assert all(bool(task.inverse.feasible(z, y).all()) for z in (start.z, drawn, law.mode()))
        return [law.log_mass().cpu(), law.marginals().cpu(), law.mode().cpu()]

    for here, there in zip(found("cpu"), found(device), strict=True):
        assert torch.allclose(here.double(), there.double(), rtol=1e-9, atol=1e-9)
