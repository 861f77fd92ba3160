"""The words of the command line: options are called options, nothing is said twice, all advice can be followed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_cases import ENVIRONMENT, ROOT
from softground.cli import evaluate, in_options, main, train
from softground.cli.options import options_of
from softground.errors import Setting, SoftgroundError
from softground.tasks import TASKS


@pytest.mark.parametrize("task", TASKS)
def test_help_says_a_default_once_and_names_options(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", task, "--help-all"]) == 0
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    for option in text.split(" --"):
        assert option.count("(default:") <= 1, option
        assert "(default: )" not in option
        assert "(default: None)" not in option
        assert "``" not in option
        assert "_dir" not in option


def test_a_message_names_the_options_of_the_command_at_hand() -> None:
    hwf = options_of("hwf", train.Command).__dataclass_fields__
    for setting, words in (
        (Setting("data_dir"), "--data-dir"),
        (Setting("unexplained", "drop"), "--unexplained drop"),
        (Setting("augment", False), "--no-augment"),
        (Setting("lengths", [1, 3]), "--lengths 1 3"),
        (Setting("workers", 0), "--solver-workers 0"),
        (Setting("previous", True), "previous=True"),
        ("data_dir and seed=4 in a text", "data_dir and seed=4 in a text"),
    ):
        assert in_options(setting, hwf) == words


@pytest.mark.parametrize("name", ["r/epochs=5,seed=3", "previous=True", "a run/device=x", "<img previous=True>"])
def test_what_was_given_is_said_as_it_was_given(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", name]) == 2
    assert f" {name}: there is no such folder" in capsys.readouterr().err


def test_what_another_library_says_stays(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(self: Any) -> None:
        try:
            raise ValueError("it needs previous=True")
        except ValueError as error:
            raise SoftgroundError(f"This cannot be read ({error}). Use ", Setting("previous", True), ".") from error

    monkeypatch.setattr(evaluate.Command, "run", fail)
    assert main(["evaluate", "run"]) == 2
    assert "This cannot be read (it needs previous=True). Use --previous." in capsys.readouterr().err


def test_examples_that_are_pickled_name_no_option_that_does_not_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "pickled.npz", x=np.array([{}, []], dtype=object), y=[1, 2])
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text('{"format": 3}')
    assert main(["evaluate", str(run), "--examples", str(tmp_path / "pickled.npz")]) == 2
    message = capsys.readouterr().err
    assert "allow_pickle=False" in message
    assert "--" not in message


def test_missing_examples_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text('{"format": 3}')
    assert main(["evaluate", str(tmp_path), "--examples", "nope.npz"]) == 2
    expected = "nope.npz: there is no such file. Give an .npz with arrays x, y and perhaps symbols."
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--test-size", "--image-size"])
def test_a_refused_size_is_an_option_that_may_be_left_out(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "hwf", option, "0", "--quiet"]) == 2
    message = capsys.readouterr().err
    assert f"{option} 0 was given" in message
    assert "None" not in message


@pytest.mark.parametrize("folder", ["src", "docs", "examples", "README.md"])
def test_nobody_is_told_to_install_what_no_index_has(folder: str) -> None:
    root = ROOT / folder
    for path in [root] if root.is_file() else [p for p in root.rglob("*") if p.suffix in (".py", ".md", ".html")]:
        assert not re.search(r"pip install '?\"?softground\b", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(("words", "code"), [("--version >&-", 0), ("--version >&- 2>&-", 0), ("nonsense 2>&-", 2)])
def test_closed_streams_are_no_error(words: str, code: int) -> None:
    command = f"{sys.executable} -m softground {words}"
    done = subprocess.run(command, shell=True, env=ENVIRONMENT, check=False, capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr == ""


@pytest.mark.parametrize("task", [["hwf"], ["sudoku", "--size", "9"]])
def test_memory_is_checked_before_it_is_asked_for(task: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Training and test data together, before any image is drawn."""
    assert main(["train", *task, "--train-size", "2000", "--test-size", "2000000", "--image-size", "1024"]) == 2
    assert "ask for fewer or smaller ones" in capsys.readouterr().err
    assert main(["train", *task, "--image-size", "4096"]) == 2
    assert "--image-size 4096 was given" in capsys.readouterr().err
