"""What a run leaves lives on: after its preset changed, its data moved or went, or it was stopped halfway."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from cli_cases import TINY, hurry, interrupted_at, interruptible, read, train
from learner_cases import assert_same_run
from report_cases import Page
from softground import Categorical, Examples, Learner, Program, Task, default_network, grounding_stages, handwritten
from softground.cli import main
from softground.errors import CheckpointError
from softground.experiments import Experiment
from softground.tasks.formulas import problem

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
stoppable = pytest.fixture(autouse=True, scope="module")(interruptible)
SYMBOLS = [*map(str, range(1, 10)), "plus", "minus", "times", "divide"]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of four noisy images for each symbol."""
    folder, noise = tmp_path_factory.mktemp("data") / "images", np.random.default_rng(0)
    for name in SYMBOLS:
        (folder / name).mkdir(parents=True)
        for number in range(4):
            Image.fromarray(noise.integers(0, 256, (8, 8), dtype=np.uint8)).save(folder / name / f"{number}.png")
    return folder


def own_images(data: Path, out: Path, *more: str) -> int:
    """Train on a folder of images; the exit code."""
    short = ["--epochs", "3", "--batch-size", "16", "--network", "lenet", "--no-augment"]
    return main([*TINY, *short, "--data", "folder", "--data-dir", str(data), "--out", str(out), *more])


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(arguments) == 2
    return capsys.readouterr().err


def stopped(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that Ctrl-C stopped in its second epoch."""
    with monkeypatch.context() as patch:
        interrupted_at(7, patch)
        assert train(run, "best", "--network", "lenet") == 130


def test_a_run_resumes_with_its_own_settings_whatever_its_preset_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(tmp_path / "whole", "best", "--network", "lenet", "--quiet") == 0
    stopped(tmp_path / "run", monkeypatch)
    monkeypatch.setitem(problem.PRESETS, "best", problem.PRESETS["best"] | {"learning_rate": 0.5, "keep": "best"})
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_an_experiment_of_another_preset_is_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"length": 3, "train_size": 16, "test_size": 8, "image_size": 8, "epochs": 2, "device": "cpu"}
    Experiment.named("hwf", **given).run(tmp_path / "run", silent=True)
    monkeypatch.setitem(problem.PRESETS, "best", problem.PRESETS["best"] | {"learning_rate": 0.5, "keep": "best"})
    with pytest.raises(CheckpointError) as stop:
        Experiment.named("hwf", **given).run(tmp_path / "run", resume=True, silent=True)
    assert "recipe.learning_rate was 0.005, is 0.5" in str(stop.value)
    assert "recipe.keep was last, is best" in str(stop.value)
    assert "batch_size" not in str(stop.value)


def test_a_model_needs_no_data(images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(shutil.copytree(images, tmp_path / "data"))
    run = tmp_path / "run"
    assert own_images(data, run, "--quiet") == 0
    shutil.rmtree(data)
    files = [str(images / name / "0.png") for name in ("1", "plus", "2", "times", "3")]
    [found] = told(["predict", str(run), "--constrained", *files], capsys)["predictions"]
    assert len(found["symbols"]) == 5
    assert found["value"] is not None
    assert main(["report", str(run)]) == 0
    for command in ("evaluate", "resume"):
        assert str(data) in refused([command, str(run)], capsys)


def test_data_that_moved_are_found_where_they_are_now(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Path(shutil.copytree(images, tmp_path / "data"))
    assert own_images(data, tmp_path / "whole", "--quiet") == 0
    with monkeypatch.context() as patch:
        interrupted_at(7, patch)
        assert own_images(data, tmp_path / "run") == 130
    moved = ["--data-dir", str(shutil.move(data, tmp_path / "elsewhere"))]
    assert main(["resume", str(tmp_path / "run"), "--quiet", *moved]) == 0
    assert_same_run(tmp_path / "run", tmp_path / "whole")
    figures = told(["evaluate", str(tmp_path / "run"), *moved], capsys)
    assert figures.items() <= read(tmp_path / "whole" / "summary.json").items()
    (tmp_path / "run" / "report.json").unlink()
    assert main(["report", str(tmp_path / "run"), *moved]) == 0
    assert "held-out" in [a["id"] for a in Page((tmp_path / "run" / "report.html").read_text()).all("section")]


def test_other_data_are_refused_by_name(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Path(shutil.copytree(images, tmp_path / "data"))
    with monkeypatch.context() as patch:
        interrupted_at(7, patch)
        assert own_images(data, tmp_path / "run") == 130
    for name in SYMBOLS:
        for file in (data / name).iterdir():
            Image.fromarray(np.asarray(Image.open(file)).T.copy()).save(file)
    assert "the training inputs have changed" in refused(["resume", str(tmp_path / "run")], capsys)


def test_an_interrupted_run_can_be_read_with(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path / "run", monkeypatch)
    files = [str(images / name / "0.png") for name in ("1", "plus", "2", "times", "3")]
    [found] = told(["predict", str(tmp_path / "run"), *files], capsys)["predictions"]
    assert len(found["symbols"]) == 5


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Examples]:
    """A run of a rule of one's own, made in Python, and its test data."""
    space = Categorical([range(10)] * 2)
    task = Task(space, Program(lambda a, b: a - b, space), name="differences")

    def data(count: int, seed: int) -> Examples:
        z = torch.randint(10, (count, 2), generator=torch.Generator().manual_seed(seed))
        return Examples(handwritten(z, "train"), [a - b for a, b in z.tolist()], z)

    train, test = data(64, 0), data(32, 1)
    folder = tmp_path_factory.mktemp("own") / "run"
    network = default_network(train.x, space)
    Learner(task, network, grounding_stages(task, epochs=2), device="cpu").fit(train, test, out=folder)
    return folder, test


def test_a_run_of_ones_own_rule_is_read_by_every_command(
    own: tuple[Path, Examples], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, test = own
    assert main(["report", str(run)]) == 0
    assert "held-out" in [a["id"] for a in Page((run / "report.html").read_text()).all("section")]
    for site in range(2):
        Image.fromarray(test.x[0, site, 0].numpy()).save(tmp_path / f"{site}.png")
    [found] = told(["predict", str(run), str(tmp_path / "0.png"), str(tmp_path / "1.png")], capsys)["predictions"]
    assert found["value"] == found["symbols"][0] - found["symbols"][1]
    assert test.symbols is not None
    file = tmp_path / "test.npz"
    np.savez(file, x=test.x.numpy(), y=np.array(test.y), symbols=test.symbols.numpy())
    figures = told(["evaluate", str(run), "--examples", str(file)], capsys)
    assert figures.items() <= read(run / "summary.json").items()
    assert {"answer_accuracy", "symbol_accuracy", "symbol_ece"} <= figures.keys()


def test_a_run_of_ones_own_rule_is_exported(
    own: tuple[Path, Examples], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    facts = told(["export", str(own[0]), "--out", str(tmp_path / "model.onnx")], capsys)
    assert facts["input"] == ["batch", 2, 1, 8, 8]
    assert (tmp_path / "model.onnx").exists()


def test_what_only_its_own_program_can_do_is_said(
    own: tuple[Path, Examples], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Give --examples FILE.npz" in refused(["evaluate", str(own[0])], capsys)
    assert "Learner.fit(…, resume=True)" in refused(["resume", str(own[0])], capsys)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"x": np.zeros((2, 2, 1, 8, 8))}, "holds no y"),
        ({"x": np.zeros((2, 2, 1, 8, 8)), "y": np.array([object(), None])}, "cannot be read"),
    ],
    ids=["no answers", "pickled"],
)
def test_a_file_of_examples_that_is_none(
    parts: dict[str, Any], words: str, own: tuple[Path, Examples], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "test.npz", **parts)
    assert words in refused(["evaluate", str(own[0]), "--examples", str(tmp_path / "test.npz")], capsys)


@pytest.mark.parametrize("command", ["resume", "evaluate", "predict", "report", "export"])
def test_a_folder_of_the_previous_version_names_the_version(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"task": "hwf", "options": {"preset": "best"}}))
    more = ["0.png"] if command == "predict" else []
    assert "Use softground 0.1.0" in refused([command, str(tmp_path), *more], capsys)


def test_settings_of_the_solver_without_the_solver(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(["train", "hwf", "--length", "3", "--solver-workers", "2"], capsys)
    assert "--solver-workers 2" in message
    assert "Use the inverse z3" in message


def test_an_inspection_takes_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--length", "3", "--train-size", "32", "--test-size", "8"]
    assert told(["inspect", "hwf", *short, "--gamma", "0.01"], capsys)["task"] == "hwf"


def test_a_message_for_python_is_told_in_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert train(run, "best", "--network", "lenet", "--quiet") == 0
    current = max(run.glob("checkpoint-*.safetensors"))
    current.write_bytes(current.read_bytes()[:-1] + b"?")
    assert "use --previous." in refused(["evaluate", str(run)], capsys)
