"""``--objective``: every method by its name, on every task it applies to, with the paper's optimiser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from cli_cases import PRESETS, hurry, read, train
from softground.errors import LearnerError
from softground.experiments.named import named_recipe
from softground.learner import Stage
from softground.objectives import (
    MAPO,
    BackSearch,
    BestMapping,
    FeasibleMapping,
    Reinforce,
    SemanticLoss,
    SoftenedGrounding,
    Supervised,
    ZeroDegree,
)
from softground.tasks import TASKS

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
KINDS = {
    "grounding": SoftenedGrounding,
    "sup": Supervised,
    "reinforce": Reinforce,
    "mapo": MAPO,
    "ngs": BackSearch,
    "semantic": SemanticLoss,
    "ssl": SoftenedGrounding,
    "na": SoftenedGrounding,
    "hard-feasible": FeasibleMapping,
    "hard-best": BestMapping,
}
NAMES = {"hwf": {"length": 3}, "sudoku": {}, "sdsp": {"nodes": 6}, "addition": {}}


def stages(task: str, preset: str = "paper", **given: Any) -> list[Stage]:
    recipe, _ = named_recipe(task, preset, **NAMES[task], **given)
    problem = TASKS[task](**recipe.problem)
    return problem.stages(recipe, problem.task(recipe.inverse))


def optimizer(stage: Stage) -> torch.optim.Optimizer:
    return stage.optimizer(nn.Linear(1, 1).parameters())


@pytest.mark.parametrize("task", NAMES)
@pytest.mark.parametrize("name", KINDS)
def test_every_task_knows_every_method(task: str, name: str) -> None:
    first, *rest = stages(task, objective=name)
    assert type(first.objective) is KINDS[name]
    # Stage II is part of the paper's method, and of no other unless asked for.
    assert [s.name for s in rest] == (["II"] if name == "grounding" else [])
    assert first.name == ("SUP" if name == "sup" else "I")


@pytest.mark.parametrize("task", NAMES)
@pytest.mark.parametrize(("name", "gamma"), [("ssl", 1.0), ("na", 0.001)])
def test_ssl_and_na_do_not_cool(task: str, name: str, gamma: float) -> None:
    (first,) = stages(task, objective=name)
    assert isinstance(first.objective, SoftenedGrounding)
    last = first.objective.schedule.gamma(first.epochs - 1)
    assert last == first.objective.schedule.gamma(first.epochs // 2) == gamma


@pytest.mark.parametrize("task", NAMES)
def test_ssl_stays_at_the_temperature_that_is_given(task: str) -> None:
    (first,) = stages(task, objective="ssl", gamma=7.0)
    assert isinstance(first.objective, SoftenedGrounding)
    assert first.objective.schedule.gamma(first.epochs - 1) == 7.0


@pytest.mark.parametrize(
    ("name", "kind", "rate"),
    [
        ("reinforce", torch.optim.Adam, 5e-4),
        ("mapo", torch.optim.Adam, 5e-4),
        ("ngs", torch.optim.Adam, 5e-4),
        ("ssl", torch.optim.Adam, 5e-4),
        ("na", torch.optim.SGD, 0.1),
        ("semantic", torch.optim.SGD, 0.1),
        ("hard-feasible", torch.optim.SGD, 0.1),
        ("hard-best", torch.optim.SGD, 0.1),
    ],
)
def test_optimisers_are_the_papers(name: str, kind: type, rate: float) -> None:
    (first,) = stages("hwf", objective=name)
    assert type(optimizer(first)) is kind
    assert optimizer(first).param_groups[0]["lr"] == rate
    (faster,) = stages("hwf", objective=name, learning_rate=0.25)
    assert optimizer(faster).param_groups[0]["lr"] == 0.25


def test_a_published_method_has_no_one_cycle_rate() -> None:
    assert stages("hwf", preset="best", objective="mapo")[0].learning_rate is None
    assert stages("hwf", preset="best", objective="semantic")[0].learning_rate is not None


def test_combinations_of_the_third_table() -> None:
    first, second = stages("hwf", objective="ssl", zero_epochs=30)
    assert isinstance(second.objective, ZeroDegree)
    assert second.epochs == 30
    first, second = stages("hwf", schedule="exp", zero_objective="ngs")
    assert isinstance(first.objective, SoftenedGrounding)
    assert second.objective == BackSearch(6)
    assert type(optimizer(second)) is torch.optim.Adam


def test_steps_of_back_search() -> None:
    assert stages("hwf", objective="ngs")[0].objective == BackSearch(6)
    assert stages("hwf", objective="ngs", steps=2)[0].objective == BackSearch(2)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(LearnerError, match="holds γ at 1"):
        stages("hwf", objective="ssl", schedule="exp")
    with pytest.raises(LearnerError, match="'nearest' is γ = 0"):
        stages("sdsp", preset="best", objective="na")
    with pytest.raises(LearnerError, match="back-search corrects one symbol"):
        stages("sdsp", zero_objective="ngs")


def test_a_user_can_train_by_one(tmp_path: Path) -> None:
    assert train(tmp_path / "run", "paper", "--quiet", "--objective", "mapo") == 0
    assert read(tmp_path / "run" / "summary.json")["epochs"] == int(PRESETS["paper"][3]) + int(PRESETS["paper"][5])
    assert read(tmp_path / "run" / "config.json")["recipe"]["objective"] == "mapo"
