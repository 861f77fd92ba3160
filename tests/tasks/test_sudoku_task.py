"""Sudoku as a task: data, metrics, presets, and a run from the command line."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from softground.cli import main
from softground.data import Digits
from softground.data.digits import embedded_digits
from softground.errors import DataError, LearnerError, ScheduleError, SoftgroundError
from softground.experiments import Experiment
from softground.learner import Learner
from softground.metrics import best_relabelling
from softground.networks import PerSite, lenet
from softground.tasks.sudoku import Sudoku, sudoku_task
from softground.tasks.sudoku.boards import draw_images, load
from softground.tasks.sudoku.problem import sudoku_metrics
from softground.tasks.sudoku.walks import BOARD_KERNELS
from sudoku_cases import BOARDS, HAS_MNIST, MNIST


def images(x: torch.Tensor) -> set[bytes]:
    return {image.numpy().tobytes() for image in x.flatten(0, 1)}


@pytest.mark.parametrize("size", [4, 9])
def test_embedded_boards(size: int) -> None:
    data = load("digits", None, size, 30, 20, seed=3)
    assert data.train.x.shape == (30, size**2, 1, 16, 16)
    assert data.train.x.dtype == torch.uint8
    assert data.test.symbols is not None
    assert bool(sudoku_task(4 if size == 4 else 9).constraint.admissible(data.test.symbols).all())
    assert not images(data.train.x) & images(data.test.x)
    again = load("digits", None, size, 30, 20, seed=3)
    assert torch.equal(data.train.x, again.train.x)
    assert not torch.equal(data.train.x, load("digits", None, size, 30, 20, seed=4).train.x)


def test_every_cell_shows_its_digit_and_no_image_is_used_twice_too_soon() -> None:
    pool, _ = embedded_digits()
    codes = BOARDS[:100].numpy()
    index = draw_images(pool, codes, np.random.default_rng(0))
    assert np.array_equal(pool.labels[index], codes + 1)
    for code in range(4):
        _, counts = np.unique(index[codes == code], return_counts=True)
        assert counts.max() - counts.min() <= 1
        assert len(counts) == min((pool.labels == code + 1).sum(), (codes == code).sum())


def test_data_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give the folder that holds"):
        load("mnist", None, 4, 10, 10, 0)
    with pytest.raises(DataError, match="does not exist"):
        load("mnist", tmp_path / "none", 4, 10, 10, 0)
    with pytest.raises(DataError, match="test_size=0"):
        load("digits", None, 4, 10, 0, 0)
    with pytest.raises(DataError, match=r"1\.00e\+15 boards of"):
        load("digits", None, 9, 10, 10**15, 0)
    with pytest.raises(DataError, match="digits up to 16"):
        load("digits", None, 16, 10, 10, 0)
    only_ones = Digits(np.zeros((1, 2, 2), np.uint8), np.ones(1, np.uint8))
    with pytest.raises(DataError, match="hold no 2"):
        draw_images(only_ones, BOARDS[:1].numpy(), np.random.default_rng())


@pytest.mark.skipif(not HAS_MNIST, reason="MNIST's IDX files are not here; set SOFTGROUND_DATA to their folder")
def test_mnist_boards() -> None:
    data = load("mnist", MNIST, 4, 50, 100, seed=0)
    assert data.train.x.shape == (50, 16, 1, 28, 28)
    assert len(images(data.train.x)) == 800  # no image twice
    assert not images(data.train.x) & images(data.test.x)


def test_the_best_relabelling_is_the_best_of_all() -> None:
    generator = torch.Generator().manual_seed(0)
    symbols = torch.randint(4, (30, 16), generator=generator)
    predicted = torch.where(torch.rand(30, 16, generator=generator) < 0.6, (symbols + 1) % 4, 0)
    ours = float((best_relabelling(predicted, symbols)[predicted] == symbols).double().mean())
    assert ours == max(float((torch.tensor(p)[predicted] == symbols).double().mean()) for p in permutations(range(4)))


def test_metrics() -> None:
    truth = BOARDS[:4]
    relabelled = torch.tensor([2, 0, 3, 1])[truth]
    relabelled[0, 0] = (relabelled[0, 0] + 1) % 4
    fine = sudoku_task(4).feasible(relabelled, torch.zeros(4, dtype=torch.long))
    figures = sudoku_metrics(relabelled, fine, truth)
    assert figures["board_accuracy"] == 0.75
    assert figures["relabelled_board_accuracy"] == 0.75
    assert figures["relabelled_symbol_accuracy"] == pytest.approx(63 / 64)
    assert set(sudoku_metrics(relabelled, fine, None)) == {"board_accuracy"}
    # A valid board need not be the right one.
    other = sudoku_metrics(BOARDS[[7, 100]], torch.ones(2, dtype=torch.bool), BOARDS[[0, 200]])
    assert other["board_accuracy"] == 1.0
    assert other["relabelled_board_accuracy"] < 1.0


def test_presets_and_overrides() -> None:
    paper = Sudoku().recipe("paper")
    assert (paper.kernel, paper.steps, paper.optimizer, paper.zero_epochs) == ("metropolis", 10, "sgd", 100)
    assert (paper.gamma, paper.floor) == (16 * 0.1, 16 * 0.02)
    nine = Sudoku(size=9).recipe()
    assert (nine.objective, nine.network, nine.gamma, nine.problem["train_size"]) == ("parts", "convnet", 0.5, 1000)
    assert Sudoku(size=9).recipe(objective="sup").epochs == nine.epochs  # labels beside, with all else alike
    given = Sudoku().recipe(kernel="guided", schedule="exp", epochs=3)
    assert (given.kernel, given.schedule, given.floor, given.epochs) == ("guided", "exp", 0.02, 3)
    given = Sudoku().recipe("paper", warmup=0, keep="last", gamma=2.0, floor=0.5, standardise=False)
    assert (given.warmup, given.keep, given.gamma, given.floor, given.standardise) == (0, "last", 2.0, 0.5, False)
    best = Sudoku(train_size=50).recipe()
    assert best.epochs * -(-50 // best.batch_size) >= 3000
    for name in ("metropolis", "mcmc", "uniform", "collapsed", "guided", "exact"):
        experiment = Experiment.named("sudoku", kernel=name, epochs=1, train_size=8, test_size=2, device="cpu")
        experiment.learner().fit(experiment.train)


@pytest.mark.parametrize("given", [{"objective": "grounding"}, {"kernel": "guided"}, {"preset": "paper"}])
def test_chains_do_not_walk_on_large_boards(given: dict[str, str]) -> None:
    with pytest.raises(LearnerError, match="chains walk on 4×4 boards only"):
        Experiment.named("sudoku", size=9, train_size=8, test_size=2, device="cpu", **given)
    with pytest.raises(SoftgroundError, match="learnt group by group"):
        BOARD_KERNELS["kempe"]


@pytest.mark.parametrize(("given", "message"), [({"gamma": 0.0}, "start = 0"), ({"floor": 0.0}, "floor = 0, but")])
def test_temperatures_that_cannot_fall_are_refused(given: dict[str, float], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        Experiment.named("sudoku", "paper", train_size=8, test_size=2, **given)


def test_a_run_from_the_command_line_learns(tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["--train-size", "60", "--test-size", "50", "--epochs", "5", "--batch-size", "8", "--no-augment"]
    assert not main(
        ["train", "sudoku", *arguments, "--device", "cpu", "--quiet", "--evaluate-every", "99", "--out", str(run)]
    )
    summary = json.loads((run / "summary.json").read_text())
    assert summary["board_accuracy"] > 0.4
    assert summary["relabelled_symbol_accuracy"] > 0.95
    assert 40 <= summary["grounded"] <= 60
    assert summary["train"]["board_accuracy"] == pytest.approx(summary["grounded"] / 60)
    assert summary["before"]["board_accuracy"] < 0.1


def test_prediction_obeys_the_rule_where_asked() -> None:
    task = sudoku_task(4)
    torch.manual_seed(0)
    learner = Learner(task, PerSite(lenet((1, 16, 16), 4), (1, 16, 16)), device="cpu")
    x = load("digits", None, 4, 3, 1, 0).train.x
    given = learner.predict_codes(x, [True] * 3)
    assert bool(task.constraint.admissible(given).all())


@pytest.mark.parametrize("inverse", ["search", "z3"])
def test_other_inverses_train_too(inverse: str) -> None:
    options = {"kernel": "collapsed", "epochs": 1, "train_size": 4, "test_size": 2, "batch_size": 4, "device": "cpu"}
    experiment = Experiment.named("sudoku", inverse=inverse, **options)
    learner = experiment.learner().fit(experiment.train)
    assert learner.history_[-1]["unknown"] == 0
