"""The validation part of a ready-made task: one cut for all of them, by the seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from softground.data import Examples
from softground.data.digits import Digits, divide_digits
from softground.data.examples import APART, Split
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
DEALT = ("sudoku", "validity", "evenodd", "half")  # from a pool of images, which recur


def rows(data: Any) -> set[bytes]:
    return {data[row][0].numpy().tobytes() for row in range(len(data))}


@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_task_holds_out_a_part_of_its_training_examples(task: str) -> None:
    whole = Experiment.named(task, **SMALL.get(task, FEW))
    cut = Experiment.named(task, validation=0.25, **SMALL.get(task, FEW))
    assert rows(cut.test) == rows(whole.test)
    if whole.validation is not None:  # published with one, as large as a task keeps it
        assert len(cut.validation) == len(whole.validation)  # type: ignore[arg-type]
        assert task in DEALT or rows(cut.validation) == rows(whole.validation)
        assert not rows(cut.validation) & rows(cut.test)
        return
    assert (len(cut.train), len(cut.validation)) == (30, 10)  # type: ignore[arg-type]
    assert not rows(cut.train) & rows(cut.validation)
    assert task in DEALT or rows(cut.train) | rows(cut.validation) == rows(whole.train)
    again = Experiment.named(task, validation=0.25, **SMALL.get(task, FEW))
    for row in range(10):
        assert torch.equal(cut.validation[row][0], again.validation[row][0])  # type: ignore[index]


@pytest.mark.parametrize("task", DEALT)
def test_a_validation_part_dealt_from_a_pool_shows_no_image_of_training(task: str) -> None:
    given = {"train_size": 200} | ({"test_size": 10} if task in ("sudoku", "validity") else {})
    whole, cut = (Experiment.named(task, **given, **more) for more in ({}, {"validation": 0.25}))
    shown, held = images(cut.train), images(cut.validation)
    assert not shown & held
    assert not (shown | held) & images(cut.test)
    assert cut.note == f"{whole.note} {APART}"
    assert whole.validation is None or images(whole.validation) & images(whole.train)  # where nothing asks for it


def images(data: Any) -> set[bytes]:
    return {image.numpy().tobytes() for row in range(len(data)) for image in data[row][0]}


def test_both_sides_have_images_of_every_digit() -> None:
    pool = Digits(np.arange(9, dtype=np.uint8).reshape(9, 1, 1), np.array([3] * 6 + [4] * 2 + [5], dtype=np.uint8))
    (kept, _), (held, _) = divide_digits(pool, 0.01, 0)
    assert kept.labels.tolist() == [3] * 5 + [4, 5]  # the only 5 is trained on
    assert held.labels.tolist() == [3, 4]
    assert not {*kept.images.ravel().tolist()} & {*held.images.ravel().tolist()}
    assert len(divide_digits(pool, 0.5, 0)[1][0].labels) == 4
    again = [part.images.tolist() for part, _ in divide_digits(pool, 0.01, 0)]
    assert again == [kept.images.tolist(), held.images.tolist()]


def test_the_seed_decides_which_examples() -> None:
    data = Examples(torch.arange(50.0)[:, None], range(50))
    parts = [Split(data, data, "").hold_out(0.2, seed).validation.y for seed in (0, 0, 1)]  # type: ignore[union-attr]
    assert parts[0] == parts[1] != parts[2]


@pytest.mark.parametrize(
    ("share", "message"),
    [(1.0, "expected a share"), (-0.1, "expected a share"), (0.99, "leaves none of 10 training examples")],
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
