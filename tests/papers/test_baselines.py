"""What every baseline must do: beat chance on easy problems, and go on from a checkpoint with the same bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from baseline_cases import boards, formulas, half_trained, reads_formulas, train
from exhaustive import Replay
from learner_cases import Stop, adam, addition, assert_same_run, classifier, examples, make_learner, stop_at
from lessons import Lesson
from papers.li2023.baselines import MAPO, BackSearch, BestMapping, FeasibleMapping, Reinforce
from softground import Stage
from softground.dice import Sampler
from softground.schedules import Constant
from softground.tasks.formulas import formula_task
from softground.tasks.sudoku import sudoku_task
from softground.training import SemanticLoss, SoftenedGrounding, Teacher
from sudoku_cases import board_kernel

BASELINES: dict[str, Callable[[], Teacher]] = {
    "REINFORCE": Reinforce,
    "MAPO": lambda: MAPO(capacity=4),
    "NGS": lambda: BackSearch(3),
    "semantic loss": SemanticLoss,
    "problem (2)": BestMapping,
}
METHODS = BASELINES | {"problem (1)": FeasibleMapping}  # which is not meant to learn


@pytest.mark.parametrize(("length", "epochs"), [(1, 8), (3, 25)])
@pytest.mark.parametrize("name", BASELINES)
def test_it_reads_short_formulas(name: str, length: int, epochs: int) -> None:
    """Chance is one symbol in nine and one in four, and a value in nine at most."""
    figures = reads_formulas(BASELINES[name](), length, epochs).results_["I"]
    assert figures["symbol_accuracy"] > 0.95
    assert figures["calculation_accuracy"] > 0.9


@pytest.mark.parametrize("name", [*BASELINES, "SSL"])
def test_it_finishes_a_half_trained_network_on_sudoku(name: str) -> None:
    task, network, test = sudoku_task(4), half_trained(), boards(200, seed=1)
    ssl = SoftenedGrounding(board_kernel("metropolis", task, False), Constant(1.0), steps=4)
    objective = ssl if name == "SSL" else BASELINES[name]()
    before = make_learner(task, net=network).evaluate(test)
    assert before["board_accuracy"] < 0.25
    after = train(task, network, objective, boards(100), test, 30, 0.02).results_["I"]
    assert after["board_accuracy"] > 0.95


@pytest.mark.parametrize("name", METHODS)
def test_an_interrupted_run_ends_the_same(name: str, tmp_path: Path) -> None:
    task = addition()

    def run(folder: Path, stop: int = 0, resume: bool = False) -> None:
        stages = [Stage("I", METHODS[name](), 2, adam), Stage("again", METHODS[name](), 2, adam)]
        learner = make_learner(task, stages, classifier(dropout=0.2))
        learner.fit(examples(task, 80), out=folder, resume=resume, observer=stop_at(stop))

    run(tmp_path / "whole")
    for stop in (6, 12):  # in the second epoch, in the second stage
        folder = tmp_path / f"stopped at {stop}"
        with pytest.raises(Stop):
            run(folder, stop)
        run(folder, resume=True)
        assert_same_run(folder, tmp_path / "whole")


@pytest.mark.parametrize("name", METHODS)
def test_what_was_saved_takes_the_same_next_step(name: str) -> None:
    task = formula_task(3)
    data = formulas(task, 12)
    y = task.constraint.encode(data.y)
    belief = task.space.belief(4 * data.x)

    def steps(lesson: Lesson, seeds: range) -> list[float]:
        return [float(lesson.loss(belief, dice=Sampler(seed)).loss) for seed in seeds]

    first, second = Lesson(METHODS[name](), task, y), Lesson(METHODS[name](), task, y)
    steps(first, range(3))
    second.memory = {key: value.clone() for key, value in first.memory.items()}
    assert steps(second, range(3, 6)) == steps(first, range(3, 6))
    assert all(len(value) == len(y) for value in first.memory.values())  # a row an example
    assert all(torch.equal(value, second.memory[key]) for key, value in first.memory.items())


@pytest.mark.parametrize("name", ["REINFORCE", "MAPO"])
def test_a_reward_is_not_compared_with_itself(name: str) -> None:
    """The baseline is that of the batches before; with the batch's own rewards in it the gradient would be biased."""
    task = addition()
    y = task.constraint.encode([3])
    lesson, drawn = Lesson(BASELINES[name](), task, y), Replay(torch.tensor([[1, 1, 1]]))
    outcome = lesson.loss(task.space.belief(torch.zeros(1, 3, 4)), dice=drawn)
    assert outcome.figures["reward"].tolist() == [1.0]
    assert float(outcome.loss) == pytest.approx(math.log(4))


@pytest.mark.parametrize("name", BASELINES)
def test_draws_come_from_the_dice_alone(name: str) -> None:
    task = formula_task(3)
    data = formulas(task, 12)
    y = task.constraint.encode(data.y)

    def loss(noise: int) -> float:
        torch.manual_seed(noise)
        lesson = Lesson(BASELINES[name](), task, y, seed=noise)
        return float(lesson.loss(task.space.belief(data.x)).loss)

    assert loss(1) == loss(2)
