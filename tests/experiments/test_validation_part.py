"""The validation part of a ready-made task: one cut for all of them, by the seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from softground.data import Examples
from softground.data.examples import Split
from softground.errors import DataError, LearnerError
from softground.experiments import Experiment
from softground.runs import RunFolder
from softground.tasks import TASKS

SMALL: dict[str, dict[str, Any]] = {
    "hwf": {"train_size": 40, "test_size": 10, "length": 3},
    "sudoku": {"train_size": 40, "test_size": 10},
    "sdsp": {"train_size": 40, "test_size": 10, "nodes": 8},
}
FEW: dict[str, Any] = {"train_size": 40}


def rows(data: Any) -> set[bytes]:
    return {data[row][0].numpy().tobytes() for row in range(len(data))}


@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_task_holds_out_a_part_of_its_training_examples(task: str) -> None:
    whole = Experiment.named(task, **SMALL.get(task, FEW))
    cut = Experiment.named(task, validation=0.25, **SMALL.get(task, FEW))
    if whole.validation is not None:  # published with one, which a task keeps
        assert rows(cut.validation) == rows(whole.validation)
        assert not rows(cut.validation) & rows(cut.test)
        return
    assert (len(cut.train), len(cut.validation)) == (30, 10)  # type: ignore[arg-type]
    assert not rows(cut.train) & rows(cut.validation)
    assert rows(cut.train) | rows(cut.validation) == rows(whole.train)
    assert rows(cut.test) == rows(whole.test)
    again = Experiment.named(task, validation=0.25, **SMALL.get(task, FEW))
    for row in range(10):
        assert torch.equal(cut.validation[row][0], again.validation[row][0])  # type: ignore[index]


def test_the_seed_decides_which_examples() -> None:
    data = Examples(torch.arange(50.0)[:, None], range(50))
    parts = [Split(data, data, "").hold_out(0.2, seed).validation.y for seed in (0, 0, 1)]  # type: ignore[union-attr]
    assert parts[0] == parts[1] != parts[2]


@pytest.mark.parametrize(
    ("share", "message"), [(1.0, "expected a share"), (-0.1, "expected a share"), (0.99, "leaves none to train on")]
)
def test_a_share_that_leaves_nothing_is_refused(share: float, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Experiment.named("addition", validation=share, train_size=10)


def test_a_run_keeps_the_part_and_the_patience_in_its_recipe(tmp_path: Path) -> None:
    given: dict[str, Any] = {"validation": 0.5, "patience": 1, "epochs": 3, "train_size": 20, "device": "cpu"}
    summary = Experiment.named("addition", **given).run(tmp_path / "run", silent=True)
    assert "validation_sum_accuracy" in summary
    folder = RunFolder.open(tmp_path / "run")
    again = Experiment.of_run(folder)
    assert (again.recipe.validation, again.recipe.patience) == (0.5, 1)  # type: ignore[union-attr]
    assert again.run(folder.path, resume=True, silent=True)["epochs"] == summary["epochs"]


@pytest.mark.parametrize("given", [{"patience": 3}, {"keep": "validation"}], ids=str)
def test_what_goes_by_a_validation_part_needs_one(given: dict[str, Any]) -> None:
    """Refused before there is a run folder."""
    with pytest.raises(LearnerError, match="but no validation part to judge by"):
        Experiment.named("addition", **given)
