"""Several seeds at once, and the command ``runs``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean, stdev

import pytest

from cli_cases import PRESETS, TINY, hurry, read
from softground.cli import main
from softground.runs.lock import in_use, locked

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
SHORT = [*TINY, *PRESETS["best"], "--network", "lenet", "--epochs", "1", "--quiet"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two seeds."""
    folder = tmp_path_factory.mktemp("runs") / "home"
    assert main([*SHORT, "--seeds", "3", "5", "--out", str(folder)]) == 0
    return folder


def accuracies(home: Path) -> list[float]:
    return [read(home / name / "summary.json")["symbol_accuracy"] for name in ("seed-3", "seed-5")]


def test_each_seed_has_a_run_of_its_own(home: Path) -> None:
    assert [read(home / f"seed-{seed}" / "config.json")["recipe"]["seed"] for seed in (3, 5)] == [3, 5]
    found = accuracies(home)
    page = (home / "compare.html").read_text()
    assert f"{mean(found):.2%} ± {stdev(found):.2%}" in page


def test_runs_are_compared_on_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(home / "seed-3"), str(home / "seed-5")]
    assert main(["runs", "compare", *folders]) == 0
    out, found = capsys.readouterr().out, accuracies(home)
    assert f"{mean(found):.2%} ± {stdev(found):.2%}" in out
    assert "recipe › seed" in out
    assert main(["runs", "compare", *folders, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [run["figures"]["symbol_accuracy"] for run in document["runs"]] == found
    assert document["settings"] == {"recipe › seed": ["3", "5"]}
    (seeds,) = document["seeds"]
    assert seeds["mean"]["symbol_accuracy"] == mean(found)
    assert seeds["sd"]["symbol_accuracy"] == stdev(found)
    assert main(["runs", "compare", folders[0]]) == 2


def test_runs_of_other_settings_are_not_averaged(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(home / "seed-5", tmp_path / "other")
    config = read(other / "config.json")
    config["recipe"]["batch_size"] = 32
    (other / "config.json").write_text(json.dumps(config))
    assert main(["runs", "compare", str(home / "seed-3"), str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == []
    again = shutil.copytree(home / "seed-3", tmp_path / "again")  # a seed counts once
    assert main(["runs", "compare", str(home / "seed-3"), str(again), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == []


def test_a_list_has_every_run_in_whatever_state(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(home / "seed-3", tmp_path / "seeds" / "whole")
    stopped = shutil.copytree(home / "seed-3", tmp_path / "stopped")
    (stopped / "summary.json").unlink()
    (shutil.copytree(home / "seed-3", tmp_path / "broken") / "config.json").write_text("{")
    with locked(shutil.copytree(home / "seed-3", tmp_path / "busy")):
        assert main(["runs", "list", str(tmp_path), "--json"]) == 0
        found = {Path(run["run_folder"]).name: run for run in json.loads(capsys.readouterr().out)["runs"]}
        states = {name: run["state"] for name, run in found.items()}
        assert states == {"whole": "finished", "stopped": "stopped", "broken": "unreadable", "busy": "training"}
        assert main(["runs", "remove", str(tmp_path / "busy"), "--yes"]) == 2
        assert "is training in" in capsys.readouterr().err
    assert found["whole"]["seed"] == 3
    assert found["whole"]["figures"]["symbol_accuracy"] == accuracies(home)[0]
    assert main(["runs", "list", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert any("whole" in line and f"{accuracies(home)[0]:.1%}" in line for line in lines)


def test_the_list_is_of_this_folders_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "elsewhere"]) == 2
    assert "no such folder" in capsys.readouterr().err
    for _ in range(2):  # without the folder, and with an empty one
        assert main(["runs"]) == 0
        assert "no runs in runs yet. softground train hwf begins one" in capsys.readouterr().out
        (tmp_path / "runs").mkdir(exist_ok=True)


def test_runs_are_removed_only_when_that_is_meant(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(home / "seed-3", tmp_path / "run")
    (tmp_path / "link").symlink_to(run)
    (tmp_path / "mine").mkdir()
    assert main(["runs", "remove", str(run)]) == 2  # nobody sits there to be asked
    assert main(["runs", "remove", str(run), str(tmp_path / "link"), "--yes"]) == 2
    assert main(["runs", "remove", str(run), str(tmp_path / "mine"), "--yes"]) == 2
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert main(["runs", "remove", str(run)]) == 2
    assert (run / "config.json").exists()
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert main(["runs", "remove", str(run)]) == 0
    assert not run.exists()
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize("seeds", [["1", "1"], ["1"]])
def test_seeds_that_are_refused(seeds: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--seeds", *seeds, "--out", str(tmp_path / "x")]) == 2
    assert "seeds that differ" in capsys.readouterr().err


def test_a_seed_that_is_there_already_is_never_lost(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--seeds", "7", "5", "--out", str(home)]) == 2
    assert "seed-5 exists" in capsys.readouterr().err
    assert not (home / "seed-7").exists()


def test_a_lock_is_seen_and_left_alone(tmp_path: Path) -> None:
    assert not in_use(tmp_path)
    with locked(tmp_path):
        assert in_use(tmp_path)
    assert not in_use(tmp_path)
