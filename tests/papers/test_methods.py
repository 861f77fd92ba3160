"""``--objective``: every method by its name, on every task it applies to, with the paper's optimiser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

from cli_cases import ENVIRONMENT, PRESETS, TINY, hurry, read
from papers.li2023.__main__ import main
from papers.li2023.baselines import MAPO, BackSearch, BestMapping, FeasibleMapping, Reinforce
from papers.li2023.cell import Where
from papers.li2023.plan import plan, select
from papers.li2023.work import experiment_of
from softground.errors import LearnerError, SoftgroundError
from softground.experiments import Experiment
from softground.experiments.named import named_recipe
from softground.learner import Stage
from softground.schedules import SCHEDULES
from softground.tasks import TASKS, ShortestPaths
from softground.tasks.sdsp.path_task import PATH_INVERSES
from softground.tasks.sudoku.boards import BOARDS
from softground.training import OBJECTIVES, SemanticLoss, SoftenedGrounding, Supervised, ZeroDegree

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
    (cell,) = select(plan("hwf", 1, real=False, quick=True), ["hwf/standard/exp-ngs"])
    first, second = cast(list[Stage], experiment_of(cell, Where("cpu")).stages)
    assert isinstance(first.objective, SoftenedGrounding)
    assert second.objective == BackSearch(6)
    assert type(optimizer(second)) is torch.optim.Adam


def test_what_a_method_implies() -> None:
    ssl = TASKS["hwf"]().recipe("paper", objective="ssl", gamma=7.0)
    assert (ssl.schedule, ssl.gamma, ssl.optimizer, ssl.learning_rate, ssl.zero_epochs) == (
        "constant",
        7.0,
        "adam",
        5e-4,
        0,
    )
    na = TASKS["hwf"]().recipe("paper", objective="na", zero_epochs=4)
    assert (na.schedule, na.gamma, na.optimizer, na.zero_epochs) == ("constant", 0.001, "sgd", 4)
    assert TASKS["hwf"]().recipe("paper", objective="ngs").steps == 6
    assert TASKS["hwf"]().recipe("paper", objective="ngs", steps=2).steps == 2
    assert TASKS["hwf"]().recipe("best", objective="mapo").one_cycle is False
    assert TASKS["sdsp"]().recipe("paper", objective="reinforce").problem["sigma"] == 1.0
    assert ShortestPaths(sigma=2.0).recipe("paper", objective="mapo").problem["sigma"] == 2.0


def test_steps_of_back_search() -> None:
    assert stages("hwf", objective="ngs")[0].objective == BackSearch(6)
    assert stages("hwf", objective="ngs", steps=2)[0].objective == BackSearch(2)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(LearnerError, match="holds γ at 1"):
        stages("hwf", objective="ssl", schedule="exp")
    with pytest.raises(LearnerError, match="'nearest' is γ = 0"):
        stages("sdsp", preset="best", objective="na")


def test_a_user_can_train_by_one_and_resume_it(tmp_path: Path) -> None:
    run, epochs = tmp_path / "run", int(PRESETS["paper"][3]) + int(PRESETS["paper"][5])
    assert main([*TINY, *PRESETS["paper"], "--out", str(run), "--quiet", "--objective", "mapo"]) == 0
    assert read(run / "summary.json")["epochs"] == epochs
    assert read(run / "config.json")["recipe"]["objective"] == "mapo"
    assert main(["resume", str(run), "--zero-epochs", "3", "--quiet"]) == 0
    assert read(run / "summary.json")["epochs"] == epochs + 1


@pytest.mark.parametrize("name", ["reinforce", "mapo", "ngs", "ssl", "na", "hard-feasible", "hard-best"])
def test_without_the_papers_package_its_command_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(OBJECTIVES, name)
    with pytest.raises(SoftgroundError, match=rf"{name}' was given, which is gone.*papers.li2023 trains"):
        named_recipe("hwf", objective=name)
    with pytest.raises(SoftgroundError, match=rf"The objective '{name}' is gone.*papers.li2023 trains, resumes"):
        OBJECTIVES[name]


def test_without_the_papers_package_there_are_none() -> None:
    code = "import softground as sg; print(*sg.training.OBJECTIVES, *sg.schedules.SCHEDULES)"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} == {
        "auto",
        "parts",
        "grounding",
        "sup",
        "zero",
        "semantic",
        "constant",
        "exp",
        "linear",
        "log",
    }


@pytest.mark.parametrize(("task", "name"), [("hwf", "linear-code"), ("sudoku", "authors"), ("sdsp", "z3")])
def test_what_is_the_authors_own_is_refused_without_the_papers_package(
    task: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for registry in (SCHEDULES, BOARDS, PATH_INVERSES):
        monkeypatch.delitem(registry, name, raising=False)
    given = {"hwf": {"schedule": name}, "sudoku": {"boards": name}, "sdsp": {"inverse": name}}[task]
    said = "sdsp has intervals" if task == "sdsp" else "was given, which is gone.*papers.li2023 trains"
    with pytest.raises(SoftgroundError, match=said):
        named_recipe(task, **given)


@pytest.mark.parametrize("objective", ["reinforce", "mapo"])
def test_policies_learn_from_the_number_of_right_paths(objective: str) -> None:
    """No sample ever has all paths of a graph right, which is what they were paid for before."""
    experiment = Experiment.named(
        "sdsp",
        "paper",
        objective=objective,
        nodes=8,
        train_size=400,
        test_size=400,
        epochs=15,
        batch_size=16,
        learning_rate=3e-3,
        evaluate_every=100,
        device="cpu",
    )
    learner = experiment.learner()
    before = learner.evaluate(experiment.held_out)["path_accuracy"]
    learner.fit(experiment.train, experiment.held_out)
    assert learner.results_["I"]["path_accuracy"] > before + 0.1
