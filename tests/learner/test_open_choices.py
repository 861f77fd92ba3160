"""What is left open until the answers are known is chosen, kept, and taken again when a run is resumed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import softground as sg
from learner_cases import assert_same_run
from softground.errors import CheckpointError
from softground.inverses import RUNGS, GivesWay, Lists
from softground.kernels import Composed, Exact
from softground.learner.observers import learning_problems
from softground.learner.open_choices import choices_in_words
from softground.report.html.run import REPORT
from softground.walks import recommendation


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the disk; and as much time for trials, which are counted, as a busy machine may need."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr("softground.learner.open_choices.SECONDS", 60.0)


DIGITS = sg.Categorical([range(4)] * 4)  # a square: sums of its rows and of its columns
LINES = ((0, 1), (2, 3), (0, 2), (1, 3))


def total(a: int, b: int, c: int, d: int) -> tuple[int, ...]:
    cells = (a, b, c, d)
    return tuple(sum(cells[i] for i in line) for line in LINES)


def square(**given: Any) -> sg.Task:
    rule = sg.SMT(lambda z, y: [z[i] + z[j] == s for (i, j), s in zip(LINES, y, strict=True)], DIGITS)
    return sg.Task(DIGITS, rule, **given)


def data(count: int = 24) -> sg.Examples:
    z = torch.randint(4, (count, 4), generator=torch.Generator().manual_seed(0))
    return sg.Examples(torch.eye(4)[z], [total(*row) for row in z.tolist()], symbols=z)


def train(task: sg.Task, folder: Path, copy: Path | None = None, resume: bool = False) -> sg.Learner:
    """Train; after the first epoch the run folder is copied, as an interruption would leave it."""

    def observer(event: str, facts: dict[str, Any]) -> None:
        if copy and event == "epoch" and facts["epoch"] == 0:
            shutil.copytree(folder, copy)

    with sg.seeded(0):
        network = nn.Linear(4, 4)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=2), batch_size=8)
    return learner.fit(data(), data(8), out=folder, resume=resume, observer=observer)


NO_LAW = sg.Budget(solutions=0, cache=None)


@pytest.mark.filterwarnings("ignore:Whether the parts")  # which no time is left to find out
@pytest.mark.parametrize(("budget", "rung"), [(sg.Budget(cache=None), "table"), (NO_LAW, "parts"), (NO_LAW, "chains")])
def test_a_resumed_run_takes_what_was_chosen(
    budget: sg.Budget, rung: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rung == "chains":
        monkeypatch.setitem(RUNGS, "parts", refuse)
    train(square(budget=budget), tmp_path / "whole", tmp_path / "part")
    config = json.loads((tmp_path / "whole" / "config.json").read_text())
    assert config["choice"]["task"]["rung"] == rung
    assert json.loads((tmp_path / "whole" / "summary.json").read_text())["choice"] == config["chosen"]
    assert "How feasible symbols were found" in (tmp_path / "whole" / REPORT).read_text()
    # Now nothing could be chosen any more: no budget, and nothing may be tried.
    monkeypatch.setattr(recommendation, "recommend", None)
    poor = sg.Budget(solutions=10**6 if rung == "table" else 0, seconds=0.0, cache=None)
    rest = train(square(budget=poor), tmp_path / "part", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "part")
    objective: Any = rest.stages[0].objective
    if rung == "parts":
        assert isinstance(objective, sg.training.CompositeLikelihood)
    else:
        assert isinstance(objective.kernel, Exact if rung == "table" else Composed)


def refuse(ask: Any) -> Any:
    raise GivesWay("not today")


def test_a_damaged_choice_is_refused(tmp_path: Path) -> None:
    train(square(), tmp_path / "whole", tmp_path / "run")
    config = json.loads((path := tmp_path / "run" / "config.json").read_text())
    config["choice"]["task"]["rung"] = "magic"
    path.write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="names the inverse 'magic'; expected one of table, scan"):
        train(square(), tmp_path / "run", resume=True)


def test_every_shape_of_a_family_chooses() -> None:
    def make(sites: int) -> sg.Task:
        space = sg.Categorical([range(4)] * sites)
        return sg.Task(space, sg.SMT(lambda z, y: sum(z) < y, space))

    family = sg.Family(make, [2, 3])
    x = [torch.eye(4)[torch.zeros(sites, dtype=torch.long)] for sites in (2, 3)] * 4
    learner = sg.Learner(family, nn.Linear(4, 4), lambda task: sg.grounding_stages(task, epochs=1))
    learner.fit(sg.Examples.ragged(x, [3, 4] * 4))
    assert {name: one["rung"] for name, one in learner.choice_.items()} == {"2": "table", "3": "table"}
    assert all(isinstance(task.inverse, Lists) for task in family.tasks.values())
    assert choices_in_words(learner.choice_)[0].startswith(
        "Inverse of shape 2: table (all 16 states were tried for each of 1"
    )


def test_the_choice_is_told_before_training(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    task = square()
    sg.experiments.Experiment(task, nn.Linear(4, 4), data(), data(8), sg.grounding_stages(task, epochs=1)).run(
        tmp_path / "run"
    )
    printed = capsys.readouterr().out
    assert printed.index("Inverse: table (all 256 states were tried for each of") < printed.index("epoch 1/1")


def grid(rows: int, columns: int) -> sg.Task:
    """Sums of rows and columns as a function, too large for a table."""
    space = sg.Categorical([range(3)] * (rows * columns))

    def sums(*z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        cells = torch.stack(z).view(rows, columns, -1)
        return (*cells.sum(1), *cells.sum(0))

    rule = sg.Program(sums, space, vectorised=True)
    return sg.Task(space, rule, sg.inverses.Enumeration(space, rule))


def test_a_walk_without_a_kernel_moves_and_says_why() -> None:
    task, z = grid(3, 3), torch.randint(3, (12, 9), generator=torch.Generator().manual_seed(1))
    examples = sg.Examples(torch.eye(3)[z], task.constraint.compute(z))
    learner = sg.Learner(task, nn.Linear(3, 3), sg.grounding_stages(task, epochs=1)).fit(examples)
    walk = learner.choice_["task"]["walk"]
    assert learner.history_[0]["moved"] > 0
    assert walk["dropped"] + walk["change"] >= 4, walk  # no solutions differ in fewer sites
    assert any("of the moves find a completion" in reason for reason in walk["reasons"])


def test_chains_that_stand_still_are_told(tmp_path: Path) -> None:
    task, z = grid(3, 3), torch.randint(3, (12, 9), generator=torch.Generator().manual_seed(1))
    examples = sg.Examples(torch.eye(3)[z], task.constraint.compute(z))
    frozen = sg.kernels.Guided(task.inverse, sg.projections.Drop(task.space, [0]))
    stages = sg.grounding_stages(task, frozen, epochs=2)
    with sg.seeded(0):  # other first weights may hit upon a state
        network = nn.Linear(3, 3)
    with pytest.warns(UserWarning, match="Chains stand still: no chain has moved in the first 2 epochs of stage I"):
        learner = sg.Learner(task, network, stages).fit(examples, examples, out=tmp_path / "run")
    assert list(learner.summary_["signs"]) == ["still"]
    assert "Chains stand still" in (tmp_path / "run" / REPORT).read_text()


def test_signs_are_read_from_records() -> None:
    slow = {"stage": "I", "feasible": 0.1, "gamma": 1.0}
    assert not learning_problems([slow] * 100)  # what was learnt is the verdict's to say
    still = slow | {"acceptance": 0.0, "moved": 0.0}
    assert list(learning_problems([still] * 3)) == ["still"]
    assert not learning_problems([still | {"acceptance": 1.0}] * 3)  # a draw from the law itself
    assert not learning_problems([still | {"moved": 0.1}, still, still])
    assert not learning_problems([still | {"unstarted": 3}] * 3)  # which is told already
    assert not learning_problems([{"stage": "I", "feasible": "much"}])
