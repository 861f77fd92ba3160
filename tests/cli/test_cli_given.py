"""Options from a run and from a file; a finished run that is given more epochs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import tyro

from cli_cases import PRESETS, TINY, hurry, read, train
from softground.cli import command, main
from softground.cli.given import expanded, words_of
from softground.experiments.extending import extended
from softground.experiments.named import named_recipe, recipe_of
from softground.experiments.recipe import settings
from softground.learner.run_state import network_of
from softground.runs import RunFolder
from softground.tasks import TASKS

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
STEADY = ["--quiet", "--network", "lenet", "--no-one-cycle"]  # nothing depends on the number of epochs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given") / "run"
    assert train(folder, "best", *STEADY, "--epochs", "1", "--seed", "3", "--learning-rate", "0.001") == 0
    return folder


def asked(words: list[str]) -> Any:
    """What a command line asks for."""
    return tyro.cli(command("train"), args=words, config=(tyro.conf.DisallowNone,))


@pytest.mark.parametrize("preset", ["best", "paper"])
@pytest.mark.parametrize("task", TASKS)
def test_every_setting_can_be_written_as_options(task: str, preset: str) -> None:
    recipe, _ = named_recipe(task, preset, seed=4)
    kind = TASKS[task]
    names = [name for name in settings() if name not in kind.absent]
    words = words_of({"preset": preset, **recipe.problem} | {name: getattr(recipe, name) for name in names})
    made = asked([task, *words])
    assert named_recipe(task, made.preset, **made.given)[0] == recipe


def test_a_run_like_another_has_its_settings_but_those_given(run: Path) -> None:
    kept = recipe_of(RunFolder.open(run))
    made = asked(expanded(["hwf", "--like", str(run)]))
    assert named_recipe("hwf", made.preset, **made.given)[0] == kept
    assert asked(expanded(["hwf", f"--like={run}", "--epochs", "9"])).epochs == 9
    assert asked(expanded(["hwf", f"--like={run}", "--epochs", "9"])).learning_rate == 0.001


@pytest.mark.parametrize("name", ["options.toml", "options.yaml", "options.json"])
def test_options_from_a_file(name: str, run: Path, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    values: dict[str, Any] = {"epochs": 5, "one-cycle": False, "lengths": [1, 3], "kernel": "exact"}
    lines = {"toml": "{} = {}", "yaml": "{}: {}"}.get(name.split(".")[1])
    text = json.dumps(values) if lines is None else "\n".join(lines.format(k, json.dumps(v)) for k, v in values.items())
    (tmp_path / name).write_text(text)
    words = ["hwf", "--config", str(tmp_path / name), "--like", str(run), "--kernel", "guided"]
    made = asked(expanded(words))
    assert (made.epochs, made.one_cycle, made.lengths, made.kernel) == (5, False, (1, 3), "guided")
    assert made.seed == 3  # the run's, which the file does not override


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "epochs = ", "cannot be read"),
        ("a.json", "[1]", "holds no options"),
        ("a.toml", "[stage]\nepochs = 3", "all on one level"),
        ("a.txt", "epochs = 3", "not in .toml"),
        ("a.yaml", "epochs: !!python/object/apply:os.getcwd []", "cannot be read"),
        ("absent.toml", None, "cannot be read"),
    ],
)
def test_a_file_that_holds_no_options(
    name: str, text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("yaml")
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["train", "hwf", "--config", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_a_run_of_another_task_is_no_pattern(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "sudoku", "--like", str(run)]) == 2
    assert "is a run of hwf" in capsys.readouterr().err


def test_an_extended_run_is_a_longer_run_where_nothing_depends_on_its_length(run: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", shutil.copytree(run, tmp_path / "parts")
    assert main(["train", "hwf", "--like", str(run), "--device", "cpu", "--epochs", "2", "--out", str(whole)]) == 0
    extended(RunFolder.open(parts), epochs=2)
    assert not (parts / "summary.json").exists()  # it is not finished any more
    assert main(["resume", str(parts), "--quiet"]) == 0  # as after an interruption
    found, expected = (network_of(RunFolder.open(folder)) for folder in (parts, whole))
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert read(parts / "summary.json")["epochs"] == 2
    assert recipe_of(RunFolder.open(parts)) == recipe_of(RunFolder.open(whole))
    assert len(read(parts / "config.json")["extended"]) == 1
    assert main(["resume", str(parts), "--quiet"]) == 0  # now there is nothing left to do
    assert read(parts / "summary.json")["epochs"] == 2


def test_stage_two_goes_on_where_there_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert main([*TINY, *PRESETS["paper"], *STEADY, "--epochs", "1", "--zero-epochs", "1", "--out", str(folder)]) == 0
    assert main(["resume", str(folder), "--epochs", "3"]) == 2
    assert "--zero-epochs 1" in capsys.readouterr().err
    assert main(["resume", str(folder), "--zero-epochs", "2", "--quiet"]) == 0
    stages = [record["stage"] for record in RunFolder.open(folder).read_metrics()]
    assert stages == ["I", "II", "II"]


def test_what_cannot_be_extended(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resume", str(run), "--epochs", "1"]) == 2
    assert "--epochs 1 was given" in capsys.readouterr().err
    stopped = shutil.copytree(run, tmp_path / "stopped")
    (stopped / "summary.json").unlink()
    assert main(["resume", str(stopped), "--epochs", "5"]) == 2
    assert "is not finished" in capsys.readouterr().err
    assert read(run / "config.json")["recipe"]["epochs"] == 1
