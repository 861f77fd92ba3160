"""Help in two steps, from a file that is written beforehand; and hints where a name is not one of ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_cases import ENVIRONMENT, ROOT
from softground.cli import main
from softground.experiments.recipe import settings
from softground.tasks import TASKS

FILE = ROOT / "src/softground/cli/help.json"
LISTED = re.compile(r"^  (--[\w-]+)", re.M)


def test_the_file_is_up_to_date() -> None:
    """In a process of its own, to which no other test has added kernels or objectives."""
    command = [sys.executable, "-c", "from tools import help; print(help.text(), end='')"]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, check=True)
    assert FILE.read_bytes() == done.stdout, "run python -m tools.help"


def shown(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words.split()) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("task", [*TASKS, "FILE.py"])
def test_the_short_help_is_short_and_the_long_one_whole(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    few, all_ = (LISTED.findall(shown(f"train {task} {word}", capsys)) for word in ("--help", "--help-all"))
    assert set(few) < set(all_)
    assert len(few) <= 18
    assert len(all_) <= 68
    absent = TASKS[task].absent if task in TASKS else ()
    assert {f"--{name.replace('_', '-')}" for name in settings() if name not in absent} <= set(all_)


@pytest.mark.parametrize("task", ["hwf", "sudoku", "sdsp"])
def test_defaults_are_the_presets(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(shown(f"train {task} --help-all", capsys).split())
    best, paper = (TASKS[task]().recipe(preset) for preset in ("best", "paper"))
    for name in ("epochs", "learning_rate", "batch_size"):
        values = [f"{getattr(recipe, name):g}" for recipe in (best, paper)]
        about = text[text.index(f" --{name.replace('_', '-')} ") :]
        expected = values[0] if values[0] == values[1] else f"{values[0]}; with --preset paper: {values[1]}"
        assert re.search(r"\(default: (.*?)\)", about).group(1) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize("width", [30, 80, 200])
def test_help_fits_the_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = shown("train hwf --help-all", capsys).splitlines()
    assert all(len(line) <= max(width, 70) for line in lines)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("trian hwf", "Did you mean softground train?"),
        ("train hwf --lr 0.1", "Did you mean --learning-rate?"),
        ("train hwf --bs=8", "Did you mean --batch-size?"),
        ("train sums --max_epochs 3", "Did you mean --epochs?"),
        ("train hwf --epcohs 3", "--epochs"),
    ],
)
def test_near_names_are_named(words: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(words.split())
    except SystemExit as stop:  # of tyro's, for options that are written nearly so
        code = int(str(stop.code))
    assert code == 2
    assert hint in capsys.readouterr().err


def test_help_and_version_are_commands_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown("help", capsys) == shown("--help", capsys)
    assert shown("version", capsys) == shown("--version", capsys)


def test_runs_says_how_to_begin_and_lists_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "softground train hwf" in shown("runs", capsys)
    assert "softground train hwf" in shown("runs .", capsys)
    assert json.loads(shown("runs --json", capsys)) == {"runs": []}
    assert main(["runs", "nowhere"]) == 2
    assert "nowhere: there is no such folder" in capsys.readouterr().err


def test_a_dry_run_prints_a_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settled = shown("train hwf --epochs 5 --gamma 2 --lengths 3 5 --dry-run", capsys)
    assert "epochs = 5\n" in settled
    Path("settled.toml").write_text(settled)
    assert shown("train hwf --config settled.toml --dry-run", capsys) == settled
    assert [path.name for path in tmp_path.iterdir()] == ["settled.toml"]  # nothing was trained
