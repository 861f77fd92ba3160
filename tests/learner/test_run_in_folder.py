"""A run of one's own rule leaves what a run of the command line leaves: summary, report, and figures from before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from learner_cases import addition, classifier, examples, make_learner
from softground.errors import CheckpointError, LearnerError
from softground.learner import evaluation
from softground.runs import RunFolder


def test_a_run_sums_itself_up(tmp_path: Path) -> None:
    task = addition()
    learner = make_learner(task, note="Sums of digits.", recipe={"own": [1, 2.5]})
    learner.fit(examples(task), examples(task, 50, seed=1), out=tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary == json.loads(json.dumps(learner.summary_))
    assert summary["answer_accuracy"] == summary["after_stage_I"]["answer_accuracy"]
    assert summary["before"] == json.loads((tmp_path / "run" / "config.json").read_text())["before"]
    assert summary["train"].items() <= learner.evaluate(examples(task)).items()  # which has constrained readings too
    assert summary["grounded"] == learner.grounded(examples(task))
    assert (summary["epochs"], summary["note"], summary["parameters"]) == (3, "Sums of digits.", 148)
    assert "Sums of digits." in (tmp_path / "run" / "report.html").read_text()
    assert (tmp_path / "run" / "report.json").exists()


def test_a_run_without_test_data_has_a_summary_and_its_curves(tmp_path: Path) -> None:
    task = addition()
    learner = make_learner(task).fit(examples(task), out=tmp_path / "run")
    assert learner.summary_["before"] == {}
    assert learner.summary_["train"]["symbol_accuracy"] > 0
    assert (tmp_path / "run" / "report.html").exists()


def test_after_training_each_data_set_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = evaluation.read_part

    def counted(part: Any, *given: Any) -> Any:
        read.append(len(part.data))
        return real(part, *given)

    monkeypatch.setattr("softground.learner.run_folder.read_part", counted)
    monkeypatch.setattr("softground.report.gathering.predicted_by", None)  # is not called
    task = addition()
    make_learner(task).fit(examples(task, 64), examples(task, 50, seed=1), out=tmp_path / "run")
    assert read == [50, 50, 64]  # before training the test set, after it both


def test_what_a_run_says_of_itself_is_written_anew_when_it_goes_on(tmp_path: Path) -> None:
    """Such as the findings of a report on a run that had not ended."""
    task = addition()

    def fit(resume: bool, observer: Any = None) -> None:
        data = examples(task, 64), examples(task, 50, seed=1)
        make_learner(task, net=classifier()).fit(*data, out=tmp_path / "run", resume=resume, observer=observer)

    def stop(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(False, stop)
    for name in ("report.json", "summary.json", "report.html"):
        (tmp_path / "run" / name).write_text('{"of old": true}')
    fit(True)
    for name in ("report.json", "summary.json", "report.html"):
        assert "of old" not in (tmp_path / "run" / name).read_text()


def test_a_folder_that_was_just_made_is_taken_and_one_that_was_used_is_not(tmp_path: Path) -> None:
    task, folder = addition(), RunFolder.create(tmp_path / "run", "addition").path
    make_learner(task).fit(examples(task, 48), out=folder)
    with pytest.raises(CheckpointError, match="not empty"):
        make_learner(task).fit(examples(task, 48), out=folder)


def test_figures_that_are_no_numbers_are_measured_again(tmp_path: Path) -> None:
    task, data = addition(), examples(addition(), 48)
    torch.manual_seed(0)
    make_learner(task).fit(data, data, out=tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    folder.write_config(folder.read_config() | {"before": {"answer_accuracy": "good"}})
    make_learner(task).fit(data, data, out=tmp_path / "run", resume=True)
    assert isinstance(folder.read_summary()["before"]["answer_accuracy"], float)


def test_without_a_folder_nothing_is_digested_saved_or_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "softground.learner.run_folder.config_of",
        "softground.model.Model.save",
        "softground.report.watch.Watch",
    ):
        monkeypatch.setattr(name, lambda *_: pytest.fail("this belongs to runs with a folder"))
    learner = make_learner(addition()).fit(examples(addition(), 48), examples(addition(), 20, seed=1))
    assert len(learner.history_) == 3
    assert not hasattr(learner, "summary_")


def refused(tmp_path: Path, words: str, data: Any = None, **other: Any) -> None:
    """A fit that is refused with these words leaves no folder."""
    task = addition()
    with pytest.raises(LearnerError, match=words) as found:
        make_learner(task, **other).fit(data or examples(task, 48), out=tmp_path / "run")
    assert "\n" not in str(found.value)
    assert not (tmp_path / "run").exists()


def test_a_network_that_does_not_fit_the_inputs_is_refused_and_leaves_no_folder(tmp_path: Path) -> None:
    words = r"cannot read inputs of shape \[3, 4\]: mat1 and mat2 shapes .* Give one for this shape"
    refused(tmp_path, words, net=nn.Linear(64, 4))
    task = addition()
    with pytest.raises(LearnerError, match=words):
        make_learner(task, net=nn.Linear(64, 4)).fit(examples(task, 48), examples(task, 20), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()

    def fail(event: str, facts: dict[str, Any]) -> None:
        raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        make_learner(task).fit(examples(task, 48), observer=fail)


def test_a_run_that_fails_later_keeps_its_folder(tmp_path: Path) -> None:
    def fail(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            raise LearnerError("later")

    task = addition()
    with pytest.raises(LearnerError, match="later"):
        make_learner(task).fit(examples(task, 48), out=tmp_path / "run", observer=fail)
    assert (tmp_path / "run" / "config.json").exists()
