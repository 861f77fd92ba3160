"""A validation part: its figures, early stopping, the best network, and stopping from an observer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from learner_cases import adam, addition, assert_same_run, classifier, equal, examples, kernel, make_learner, weights
from softground import Examples, Learner, Stage, Task
from softground.errors import CheckpointError, LearnerError
from softground.learner.run_state import Progress
from softground.runs import RunFolder
from softground.schedules import Constant
from softground.training import SoftenedGrounding


class Scripted:
    """Metrics that say, one evaluation of the validation part after the other, what they were told to say."""

    def __init__(self, scores: list[float]) -> None:
        self.scores = scores
        self.asked = 0

    def __call__(self, predicted: torch.Tensor, feasible: torch.Tensor, symbols: Any) -> dict[str, float]:
        if len(predicted) != 30:
            return {"score": 0.0}
        self.asked += 1
        return {"score": self.scores[self.asked - 1]}


def nameless(task: Task) -> Examples:
    """A validation part without true symbols, of which constrained readings would have figures as well."""
    held = examples(task, 30, seed=2)
    return Examples(held.x, held.y)


def fit(
    scores: list[float], folder: Path | None = None, patience: int = 2, resume: bool = False, **given: Any
) -> Learner:
    """Two stages of at most 6 epochs; ``scores`` are the figures of the validation part, 30 examples."""
    plain = addition()
    metrics = given.pop("metrics", None) or Scripted(scores)
    task = Task(plain.space, plain.constraint, plain.inverse, metrics, "addition")
    keep, every = given.pop("keep", "last"), given.pop("evaluate_every", 1)
    stages = [
        Stage(name, SoftenedGrounding(kernel("guided", task), Constant(1.0)), 6, adam, keep=keep, patience=patience)
        for name in ("I", "II")
    ]
    learner = make_learner(task, stages, classifier(0, dropout=0.3), evaluate_every=every)
    validation = given.pop("validation", nameless(task))
    return learner.fit(examples(task, 64), examples(task, 20, seed=1), validation, out=folder, resume=resume, **given)


def epochs(learner: Learner) -> list[str]:
    return [f"{record['stage']}{record['epoch']}" for record in learner.history_]


def test_figures_of_the_validation_part_stand_beside_those_of_the_test_data(tmp_path: Path) -> None:
    task = addition()
    stage = Stage("I", SoftenedGrounding(kernel("guided", task), Constant(1.0)), 2, adam)
    data = [examples(task, count, seed) for seed, count in enumerate((64, 20, 30))]
    learner = make_learner(task, [stage], evaluate_every=2).fit(*data, out=tmp_path / "run")
    keys = {f"{part}_{name}" for part in ("test", "validation") for name in ("answer_accuracy", "symbol_accuracy")}
    assert not keys & learner.history_[0].keys()  # not evaluated
    assert keys <= learner.history_[1].keys()
    found = learner.results_["I"]
    assert found["validation_answer_accuracy"] == learner.evaluate(data[2])["answer_accuracy"]
    assert found["answer_accuracy"] == learner.evaluate(data[1])["answer_accuracy"]
    summary = RunFolder(tmp_path / "run").read_summary()
    assert summary["after_stage_I"] == found
    assert set(summary["before"]) == {name for name in found if "constrained" not in name}
    assert "Validation part" in (tmp_path / "run" / "report.html").read_text()


def test_a_stage_ends_after_epochs_without_a_better_figure_and_the_next_begins() -> None:
    learner = fit([0.1, 0.5, 0.5, 0.4, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    assert epochs(learner) == ["I0", "I1", "I2", "I3", "II0", "II1", "II2", "II3", "II4", "II5"]
    assert learner.results_["I"] == {"score": 0.0, "validation_score": 0.4}
    assert learner.results_["II"].items() >= {"score": 0.0, "validation_score": 0.7}.items()


def test_only_evaluated_epochs_count() -> None:
    assert epochs(fit([0.5, 0.4, 0.3, 0.2, 0.1], evaluate_every=2, patience=1))[:5] == ["I0", "I1", "I2", "I3", "II0"]


def test_the_network_with_the_best_validation_figure_is_kept() -> None:
    kept: dict[str, Any] = {}

    def look(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and (facts["stage"], facts["epoch"]) == ("I", 1):
            kept.update({k: v.clone() for k, v in learner_network.state_dict().items()})
        elif event == "stage" and facts["stage"] == "I":
            now = learner_network.state_dict()
            assert all(torch.equal(now[name], value) for name, value in kept.items())
            kept["compared"] = True

    task = addition()
    stage = Stage("I", SoftenedGrounding(kernel("guided", task), Constant(1.0)), 4, adam, keep="validation")
    scores = Scripted([0.2, 0.9, 0.3, 0.4, 0.9])
    learner = make_learner(Task(task.space, task.constraint, task.inverse, scores), [stage])
    learner_network = learner.network
    learner.fit(examples(task, 64), None, nameless(task), observer=look)
    assert kept.pop("compared")
    assert scores.asked == 5  # every epoch, and the one that is kept once more


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_run_that_stops_early_is_resumed_bit_for_bit(tmp_path: Path, stop: int) -> None:
    scores = [0.0, 0.1, 0.5, 0.5, 0.4, 0.2, 0.3, 0.2, 0.1]  # the first is of the untrained network
    whole = fit(scores, tmp_path / "whole")
    assert epochs(whole) == ["I0", "I1", "I2", "I3", "II0", "II1", "II2", "II3"]
    done = 0

    def interrupt(event: str, facts: dict[str, Any]) -> None:
        nonlocal done
        done += event == "epoch"
        if done == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(scores, tmp_path / "part", observer=interrupt)
    fit(scores[1 + stop :], tmp_path / "part", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "part")


def test_an_observer_ends_the_run_which_keeps_its_results(tmp_path: Path) -> None:
    seen: list[str] = []

    def observer(event: str, facts: dict[str, Any]) -> bool:
        seen.append(event)
        return event == "epoch" and facts["epoch"] == 1

    learner = fit([0.5] * 9, tmp_path / "run", patience=0, evaluate_every=5, observer=observer)
    assert epochs(learner) == ["I0", "I1"]
    assert list(learner.results_) == ["I"]
    assert learner.results_["I"].items() >= {"score": 0.0, "validation_score": 0.5}.items()
    assert seen[-3:] == ["epoch", "stage", "end"]
    assert RunFolder(tmp_path / "run").read_summary()["epochs"] == 2
    again = fit([], tmp_path / "run", patience=0, evaluate_every=5, resume=True)
    assert epochs(again) == ["I0", "I1"]  # it has ended, and stays so
    assert equal(weights(again.network), weights(learner.network))


def test_an_answer_that_is_not_true_ends_nothing() -> None:
    assert len(fit([0.5] * 12, patience=0, observer=lambda event, facts: 1).history_) == 12


def test_patience_needs_a_validation_part() -> None:
    with pytest.raises(LearnerError, match=r"patience=2 and keep=.* for Stage I, .* no validation part"):
        fit([], validation=None)
    with pytest.raises(
        LearnerError, match=r"keep='validation' were given for Stage I, but there is no validation part"
    ):
        fit([], patience=0, keep="validation", validation=None)
    with pytest.raises(LearnerError, match=r"patience=-1; expected 0 or more"):
        fit([], patience=-1)


def test_a_run_is_resumed_with_its_own_validation_part_only(tmp_path: Path) -> None:
    fit([0.5] * 30, tmp_path / "run", patience=0, observer=lambda event, facts: event == "epoch")
    for other in (examples(addition(), 30, seed=3), None):
        with pytest.raises(CheckpointError, match="the validation part has changed"):
            fit([0.5] * 30, tmp_path / "run", patience=0, resume=True, validation=other)


def test_the_first_of_equally_good_networks_is_kept() -> None:
    progress, net = Progress(), nn.Linear(1, 1, bias=False)
    for weight, score in ((1.0, 0.5), (2.0, 0.7), (3.0, 0.7), (4.0, 0.6)):
        nn.init.constant_(net.weight, weight)
        progress.note(net, score)
    assert progress.best["weight"].item() == 2.0
