"""Fabric's loggers hear of every epoch once; what is not installed is said before anything is trained."""

from __future__ import annotations

import sys
import types
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
        self.options: Any = options
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


@pytest.mark.parametrize(("name", "kind"), [("wandb", "WandbLogger"), ("mlflow", "MLFlowLogger")])
def test_a_run_is_logged_by_name_with_its_settings(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Notebook] = []

    def make(*given: Any, **options: Any) -> Notebook:
        made.append(Notebook(*given, **options))
        return made[-1]

    module = types.ModuleType("pytorch_lightning.loggers")
    setattr(module, kind, make)
    monkeypatch.setitem(sys.modules, "pytorch_lightning.loggers", module)
    monkeypatch.setattr(loggers, "find_spec", lambda package: package in (name, "pytorch_lightning"))
    folder = tmp_path / "run"
    assert train(folder, "best", "--quiet", "--network", "lenet", "--epochs", "1", "--logger", name) == 0
    (notebook,) = made
    assert str(folder) in str(notebook.options["save_dir"])
    assert notebook.settings[0]["epochs"] == "1"
    (record,) = RunFolder.open(folder).read_metrics()
    assert notebook.heard[0][1]["held-out/symbol_accuracy"] == record["test_symbol_accuracy"]
    monkeypatch.setattr(loggers, "find_spec", lambda package: False)
    assert main(["resume", str(folder), "--quiet"]) == 0  # a run must resume on a machine without it


def test_a_logger_that_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loggers, "find_spec", lambda package: package == "wandb")  # but not lightning
    assert train(tmp_path / "run", "best", "--logger", "wandb") == 2
    assert "pip install wandb lightning" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
