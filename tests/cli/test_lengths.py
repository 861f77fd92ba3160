"""Formulas of several lengths on the command line, from training to every command on the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from cli_cases import hurry, read
from softground import Family
from softground.cli import main
from softground.data import Ragged
from softground.experiments import Experiment
from softground.model import load as load_model
from softground.runs import RunFolder
from softground.tasks.formulas.data import value

LENGTHS = ["--lengths", "3", "1", "--shares", "3", "1"]
TRAIN = ["train", "hwf", *LENGTHS, "--train-size", "64", "--test-size", "24", "--image-size", "8", "--device", "cpu"]
TRAIN += ["--network", "lenet", "--no-augment", "--epochs", "2", "--batch-size", "16"]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    yield from hurry()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lengths") / "run"
    assert main([*TRAIN, "--out", str(folder)]) == 0
    return folder


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_training_and_evaluation(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary, recipe = read(run / "summary.json"), read(run / "config.json")["recipe"]
    assert recipe["problem"]["lengths"] == [3, 1]
    figures = said(["evaluate", str(run)], capsys)
    assert figures == {name: summary[name] for name in figures}
    for name in ("calculation_accuracy", "grammatical_symbol_accuracy"):
        parts = [figures[f"shape_{length}_{name}"] for length in (3, 1)]
        assert figures[name] == pytest.approx((18 * parts[0] + 6 * parts[1]) / 24)


def test_a_run_goes_on_to_the_same_end(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, count = RunFolder.append, 0

    def stopped(self: RunFolder, record: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        if count == 2:
            raise KeyboardInterrupt
        real(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "append", stopped)
        assert main([*TRAIN, "--out", str(tmp_path / "run")]) == 130
    assert main(["resume", str(tmp_path / "run")]) == 0
    one, other = (RunFolder.open(folder).load_checkpoint()[0] for folder in (run, tmp_path / "run"))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_prediction_takes_as_many_images_as_a_length_has(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test: Any = Experiment.of_run(RunFolder.open(run), device="cpu").test
    x = test.parts[3].x[0]
    files = []
    for place, image in enumerate(x[:, 0].numpy()):
        files.append(str(tmp_path / f"{place}.png"))
        Image.fromarray(np.asarray(image)).save(files[-1])
    (found,) = said(["predict", str(run), *files], capsys)["predictions"]
    model = load_model(run / "model", device="cpu")
    assert tuple(found["symbols"]) == model.predict([x])[0]
    (single,) = said(["predict", str(run), files[0]], capsys)["predictions"]
    assert len(single["symbols"]) == 1
    assert main(["predict", str(run), *files[:2]]) == 2
    assert "3, 1 symbols" in capsys.readouterr().err


def test_inspection_looks_at_each_length(capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["inspect", "hwf", "--lengths", "1", "3", "--train-size", "64"], capsys)
    assert {name: part["states"] for name, part in found["shapes"].items()} == {"1": 9, "3": 324}


def test_export_writes_a_file_for_each_length(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    files = said(["export", str(run)], capsys)["files"]
    assert [Path(each["file"]).name for each in files] == ["model-3.onnx", "model-1.onnx"]
    assert [each["input"][1] for each in files] == [3, 1]


def test_data_and_task_of_several_lengths() -> None:
    made = Experiment.named("hwf", lengths=(1, 3, 5), shares=(1, 1, 2), train_size=41, test_size=8, image_size=8)
    train: Any = made.train
    assert isinstance(made.task, Family)
    assert isinstance(train, Ragged)
    assert {length: len(part) for length, part in train.parts.items()} == {1: 11, 3: 10, 5: 20}
    for length, part in train.parts.items():
        symbols = made.task[length].space.decode(part.symbols)
        assert [value(row) for row in symbols] == part.y
    assert {len(stages) for stages in made.stages.values()} == {1}  # type: ignore[union-attr]
    assert made.task[1].space.outputs == made.task[5].space.outputs == 13


def test_long_and_short_formulas_have_the_kernels_that_they_need() -> None:
    given: dict[str, Any] = {"train_size": 8, "test_size": 4, "image_size": 8}
    stages: Any = Experiment.named("hwf", lengths=(1, 3, 11), **given).stages
    assert [type(stages[length][0].objective.kernel).__name__ for length in (1, 3, 11)] == [
        "Exact",
        "Several",
        "Several",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lengths", "2", "3"], "A formula of length 2 was asked for"),
        (["--lengths", "3", "3"], "was given twice"),
        (["--lengths", "1", "3", "--shares", "1"], "one positive whole number for each"),
        (["--lengths", "1", "3", "--shares", "99", "1", "--train-size", "10"], "leave none"),
    ],
)
def test_lengths_that_are_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "hwf", *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
