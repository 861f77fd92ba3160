"""Fabric's loggers hear of every epoch once; what is not installed is said before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lightning_fabric import Fabric
from lightning_fabric.loggers import Logger

from cli_cases import hurry, train
from learner_cases import addition, classifier, examples
from softground import Learner, grounding_stages
from softground.cli import main
from softground.report import loggers
from softground.runs import RunFolder

hurried = pytest.fixture(autouse=True, scope="module")(hurry)


class Notebook(Logger):
    """What Fabric asks of a logger, kept in memory."""

    name, version = "notebook", 0

    def __init__(self, *given: Any, **options: Any) -> None:
        self.given, self.options = given, options
        self.settings: list[Any] = []
        self.heard: list[tuple[int | None, dict[str, float]]] = []
        self.ended: list[str] = []

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:  # type: ignore[override]
        self.heard.append((step, metrics))

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        self.settings.append(params)

    def finalize(self, status: str) -> None:
        self.ended.append(status)


def test_a_fabric_with_loggers_is_told_of_every_epoch() -> None:
    task, notebook = addition(), Notebook()
    fabric = Fabric(accelerator="cpu", devices=1, loggers=[notebook])
    learner = Learner(task, classifier(), grounding_stages(task, epochs=2), fabric=fabric).fit(examples(task, 64))
    assert [step for step, _ in notebook.heard] == [1, 2]
    assert [numbers["training/loss"] for _, numbers in notebook.heard] == [r["loss"] for r in learner.history_]
    assert notebook.ended == ["success"]


def test_a_run_is_logged_by_name_with_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Notebook] = []

    def make(*given: Any, **options: Any) -> Notebook:
        made.append(Notebook(*given, **options))
        return made[-1]

    monkeypatch.setattr(loggers, "TensorBoardLogger", make)
    monkeypatch.setattr(loggers, "find_spec", lambda package: package == "tensorboard")
    folder = tmp_path / "run"
    assert train(folder, "best", "--quiet", "--network", "lenet", "--epochs", "1", "--logger", "tensorboard") == 0
    (notebook,) = made
    assert any(str(folder) in str(each) for each in (*notebook.given, *notebook.options.values()))
    assert notebook.settings[0]["epochs"] == "1"
    (record,) = RunFolder.open(folder).read_metrics()
    assert notebook.heard[0][1]["held-out/symbol_accuracy"] == record["test_symbol_accuracy"]
    monkeypatch.setattr(loggers, "find_spec", lambda package: False)
    assert main(["resume", str(folder), "--quiet"]) == 0  # a run must resume on a machine without it


@pytest.mark.parametrize(
    ("name", "words"), [("wandb", "Fabric(loggers=[…])"), ("tensorboard", "pip install tensorboard;")]
)
def test_a_logger_that_is_gone_or_not_installed(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loggers, "find_spec", lambda package: None)
    assert train(tmp_path / "run", "best", "--logger", name) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_the_real_tensorboard_reads_what_was_logged(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert train(tmp_path / "run", "best", "--quiet", "--logger", "tensorboard") == 0
    found = events.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    loss, history = found.Scalars("training/loss"), RunFolder.open(tmp_path / "run").read_metrics()
    assert [(e.step, e.value) for e in loss] == [(k, pytest.approx(r["loss"])) for k, r in enumerate(history, start=1)]
