"""TensorBoard logs hold the metrics of every epoch once; without the package, an error says what to install."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from cli_cases import hurry, train
from learner_cases import addition, examples, make_learner
from softground.cli import main
from softground.errors import SoftgroundError
from softground.report import tensorboard
from softground.runs import RunFolder

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
installed = pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None, reason="the extra tensorboard is not installed"
)


class Recorder:
    """Stands for torch's writer."""

    made: list[Recorder]

    def __init__(self, folder: str, purge_step: int | None) -> None:
        self.folder, self.purge_step = folder, purge_step
        self.scalars: list[tuple[str, float, int]] = []
        self.closed = False
        Recorder.made.append(self)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars.append((name, value, step))

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> type[Recorder]:
    """torch's module as it would be, whether or not the package is here."""
    import sys
    import types

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Recorder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr(tensorboard, "available", lambda: True)
    Recorder.made = []
    return Recorder


def test_every_number_of_an_epoch_is_logged_under_its_step(recorder: Any, tmp_path: Path) -> None:
    task = addition()
    folder = RunFolder.create(tmp_path / "run", "addition")
    learner = make_learner(task)
    learner.fit(examples(task), examples(task, 50, seed=1), out=folder.path, observer=tensorboard.TensorBoard(folder))
    (writer,) = recorder.made
    assert writer.folder == str(tmp_path / "run" / "tensorboard")
    assert writer.closed
    logged = {(name, step): value for name, value, step in writer.scalars}
    assert len(logged) == len(writer.scalars)
    for step, record in enumerate(learner.history_, start=1):
        assert logged["training/loss", step] == record["loss"]
        assert logged["held-out/symbol_accuracy", step] == record["test_symbol_accuracy"]
        assert logged["seconds/network", step] == record["seconds"]["network"]
    assert {step for _, step in logged} == {1, 2, 3}


def test_a_resumed_run_replaces_the_steps_it_repeats(recorder: Any, tmp_path: Path) -> None:
    assert train(tmp_path / "run", "best", "--quiet", "--tensorboard") == 0
    assert main(["resume", str(tmp_path / "run"), "--previous", "--quiet"]) == 0
    first, second = recorder.made
    assert (first.purge_step, second.purge_step) == (1, 3)
    assert {step for *_, step in first.scalars} == {1, 2, 3}
    assert {step for *_, step in second.scalars} == {3}


def test_without_the_package_the_error_names_the_extra_and_no_run_is_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensorboard, "available", lambda: False)
    assert train(tmp_path / "run", "best", "--tensorboard") == 2
    assert "pip install tensorboard" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    with pytest.raises(SoftgroundError, match="go without"):
        tensorboard.TensorBoard(RunFolder(tmp_path))


def test_a_run_resumes_where_the_package_is_missing(
    recorder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(tmp_path / "run", "best", "--quiet", "--tensorboard") == 0
    monkeypatch.setattr(tensorboard, "available", lambda: False)
    assert main(["resume", str(tmp_path / "run"), "--previous", "--quiet"]) == 0
    assert len(recorder.made) == 1


@installed
def test_the_real_package_reads_what_was_logged(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert train(tmp_path / "run", "best", "--quiet", "--tensorboard") == 0
    assert main(["resume", str(tmp_path / "run"), "--previous", "--quiet"]) == 0
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    history = RunFolder.open(tmp_path / "run").read_metrics()
    loss = events.Scalars("training/loss")
    assert [(e.step, e.value) for e in loss] == [(k, pytest.approx(r["loss"])) for k, r in enumerate(history, start=1)]
