"""Boards of 4×4 that are valid or not: how they are made, and the exact probability that they are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import softground as sg
from softground.cli import main
from softground.errors import DataError
from softground.experiments import Experiment
from softground.target import Target
from softground.tasks.sudoku.boards import all_boards
from softground.tasks.validity import Validity


def test_the_probability_of_a_valid_board() -> None:
    task = Validity().task()
    y = task.constraint.encode([True, sg.Not(True)])
    belief = task.space.belief(torch.zeros(2, 16, 4, dtype=torch.float64))
    mass = task.inverse.law(Target(belief, y, 1.0)).log_mass().exp()
    assert math.isclose(float(mass[0]), 288 / 4**16, rel_tol=1e-9)
    assert math.isclose(float(mass[1]), 1 - 288 / 4**16, rel_tol=1e-12)


def test_a_network_that_knows_nothing_finds_the_likeliest_valid_board(tmp_path: Path) -> None:
    """Among the 288, not among the likeliest of all states; also where the model was saved."""
    task = Validity().task()
    scores = torch.randn(3, 16, 4, generator=torch.Generator().manual_seed(0))
    model = sg.model.Model(torch.nn.Identity(), task.space, task)
    model.save(tmp_path)
    boards = task.inverse.states(torch.device("cpu"))
    chances = scores.log_softmax(-1)[:, torch.arange(16), boards].sum(-1)
    for each in (model, sg.load(tmp_path, device="cpu")):
        assert torch.equal(each.predict_codes(scores, constrained=True, budget=1), boards[chances.argmax(1)])


def apart(codes: Any) -> list[int]:
    """The cells in which the nearest valid board differs."""
    found: list[int] = (np.asarray(codes)[:, None] != all_boards(4)).sum(-1).min(1).tolist()
    return found


@pytest.mark.parametrize(("boards", "invalid"), [("valid", 0), ("both", 30)])
def test_boards_of_validity(boards: Any, invalid: int) -> None:
    problem = Validity(boards=boards, train_size=60, test_size=100)
    split, again = problem.load(0), problem.load(0)
    assert apart(split.train.symbols) == [0 if y is True else 1 for y in split.train.y]
    assert split.train.y.count(sg.Not(True)) == invalid
    assert split.test.y.count(sg.Not(True)) == 50
    assert torch.equal(split.train.x, again.train.x)
    assert not torch.equal(split.train.x, problem.load(1).train.x)
    assert (problem.support() is None) == (boards == "both")
    assert len(Validity().load(0).test) == 1000


def test_sizes_that_are_refused() -> None:
    for given in ({"train_size": 1}, {"train_size": 5, "boards": "both"}):
        with pytest.raises(DataError, match="two boards or more"):
            Validity(**given).load(0)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="test_size=1"):
        Validity(test_size=1).load(0)


def test_a_board_is_judged_by_the_digits_read(tmp_path: Path) -> None:
    task = Validity().task()
    valid, invalid = torch.from_numpy(all_boards(4)[:1]), torch.zeros(1, 16, dtype=torch.long)
    y = task.constraint.encode([True, sg.Not(True)])
    figures = task.figures(torch.cat([(valid + 1) % 4, invalid]), y, torch.cat([valid, invalid]))
    assert figures["board_accuracy"] == 1.0
    assert figures["symbol_accuracy"] == 0.5
    tiny = ["--train-size", "8", "--epochs", "1", "--network", "lenet", "--device", "cpu", "--quiet"]
    more = ["--boards", "both", "--test-size", "20", "--anchors", "1"]
    assert main(["train", "validity", *tiny, *more, "--out", str(tmp_path / "run")]) == 0
    made = Experiment.named("validity", "paper", train_size=8, boards="both")
    assert made.recipe is not None
    assert made.recipe.kernel == "metropolis"
