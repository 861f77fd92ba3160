"""``softground train my_rule.py``: a rule in a file has the options, the folder and the report of any task."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PIL import Image

from cli_cases import read
from softground.cli import main
from softground.data import handwritten
from softground.errors import DataError
from softground.experiments.own_rule import OPENED, open_rule

SMALL = ["--train-size", "60", "--test-size", "20", "--device", "cpu", "--network", "lenet"]


@pytest.fixture(autouse=True)
def leave() -> Iterator[None]:
    """Forget the files that a test has named, as the next command line does."""
    path = list(sys.path)
    for name in [name for name in sys.modules if name.startswith("rule_of_")]:
        del sys.modules[name]
    yield
    OPENED.clear()
    sys.path[:] = path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file, and a run of it that may have more epochs."""
    folder = tmp_path_factory.mktemp("own")
    assert main(["new-task", "rule_of_three", "--out", str(folder)]) == 0
    assert train(folder, "run", "--epochs", "2", "--anchors", "1") == 0
    OPENED.clear()
    return folder


def train(place: Path, out: str, *more: str) -> int:
    return main(["train", str(place / "rule_of_three.py"), *SMALL, "--out", str(place / out), "--quiet", *more])


def test_a_run_has_all_that_a_ready_made_task_has(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {"report.html", "summary.json", "metrics.jsonl", "config.json"} <= {
        f.name for f in (place / "run").iterdir()
    }
    recipe = read(place / "run" / "config.json")["recipe"]
    assert recipe["task"] == "rule_of_three.py"
    assert len(recipe["problem"]["sha256"]) == 64
    assert recipe["anchors"] == 1
    assert "symbol_accuracy" in read(place / "run" / "summary.json")
    capsys.readouterr()
    assert train(place, "dry", "--like", str(place / "run"), "--epochs", "7", "--dry-run", "--json") == 0
    asked = json.loads(capsys.readouterr().out)
    assert (asked["epochs"], asked["anchors"], asked["train_size"]) == (7, 1, 60)
    assert not (place / "dry").exists()


def test_what_is_saved_needs_no_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = [str(place / f"{digit}.png") for digit in range(3)]
    for path, image in zip(images, handwritten([4, 2, 7], "test"), strict=True):
        Image.fromarray(image[0].numpy()).save(path)
    capsys.readouterr()
    assert main(["predict", str(place / "run"), *images, "--json", "--constrained"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["predictions"]
    assert len(found["symbols"]) == 3
    assert not OPENED


@pytest.mark.parametrize("command", ["evaluate", "resume"])
def test_the_file_is_asked_for_and_compared(command: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, file = str(place / "run"), place / "rule_of_three.py"
    assert main([command, run]) == 2
    assert "imported only if you name it. Give --file rule_of_three.py." in capsys.readouterr().err
    elsewhere = place / command
    elsewhere.mkdir()
    (elsewhere / file.name).write_text(file.read_text() + "# changed\n")
    assert main([command, run, "--file", str(elsewhere / file.name)]) == 2
    assert "is not the file that the run began with" in capsys.readouterr().err


def test_a_run_is_evaluated_and_goes_on_with_its_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, copy = str(place / "rule_of_three.py"), str(shutil.copytree(place / "run", place / "copy"))
    summary = read(place / "copy" / "summary.json")
    capsys.readouterr()
    assert main(["evaluate", copy, "--file", file, "--json", "--device", "cpu"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures == {name: summary[name] for name in figures}
    assert main(["resume", copy, "--file", file, "--epochs", "3", "--quiet"]) == 0
    assert len((place / "copy" / "metrics.jsonl").read_text().splitlines()) == 3


def test_an_interrupted_run_goes_on_as_if_it_had_not_stopped(place: Path) -> None:
    assert train(place, "whole", "--epochs", "2") == 0
    kill = (
        "import sys\nfrom softground.cli import main\nfrom softground.runs import RunFolder\nold = RunFolder.append\n"
        "def append(self, record):\n    if record['epoch'] == 1: raise KeyboardInterrupt\n    old(self, record)\n"
        "RunFolder.append = append\nsys.exit(main(sys.argv[1:]))"
    )
    words = ["train", str(place / "rule_of_three.py"), *SMALL, "--out", str(place / "cut"), "--epochs", "2", "--quiet"]
    assert subprocess.run([sys.executable, "-c", kill, *words], env=os.environ, capture_output=True).returncode == 130
    assert main(["resume", str(place / "cut"), "--file", str(place / "rule_of_three.py"), "--quiet"]) == 0
    from softground import load

    one, other = (load(place / run / "model").network.state_dict() for run in ("whole", "cut"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_validation_part_and_several_seeds(place: Path) -> None:
    assert train(place, "seeds", "--epochs", "1", "--validation", "0.2", "--seeds", "0", "1") == 0
    assert train(place, "alone", "--epochs", "1", "--validation", "0.2", "--seed", "1") == 0
    one, other = (read(place / run / "summary.json") for run in ("seeds/seed-1", "alone"))
    assert one["validation_symbol_accuracy"] == other["validation_symbol_accuracy"]
    assert one["symbol_accuracy"] == other["symbol_accuracy"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "does not define task and examples"),
        ("task = 1\ndef examples(count, part): ...\n", "A rule 1 was given; expected a Task"),
        (
            "import softground as sg\nspace = sg.Categorical([range(2)])\ntask = sg.Program(lambda a: a, space)\n"
            "def examples(count, part): return [1]\n",
            "gave a list; expected softground.Examples",
        ),
    ],
)
def test_a_file_that_lacks_something(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rule_of_none.py").write_text(text)
    assert main(["train", str(tmp_path / "rule_of_none.py"), "--quiet", "--out", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_missing_or_has_another_modules_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(tmp_path / "nowhere.py")]) == 2
    assert "softground new-task NAME writes one" in capsys.readouterr().err
    (tmp_path / "json.py").write_text("")
    assert main(["train", str(tmp_path / "json.py")]) == 2
    assert "another module is called json" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rule.txt", "my rule.py"])
def test_only_python_modules_are_imported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("task = None\n")
    with pytest.raises(DataError, match="expected a Python file"):
        open_rule(tmp_path / name)
