"""``softground inspect``: the task's own options, tables or JSON, and answers as the only thing read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_cases import hurry
from softground.cli import main
from softground.cli.inspect import kernels_of
from softground.experiments import Experiment
from softground.kernels import Exact, Metropolis
from softground.tasks.shortcuts import EvenOdd

hurried = pytest.fixture(autouse=True, scope="module")(hurry)

TINY = ["hwf", "--length", "3", "--train-size", "64", "--test-size", "8", "--image-size", "8", "--sample", "8"]


def test_tables_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *TINY]) == 0
    text = capsys.readouterr().out
    assert "hwf: 3 sites, 13 symbols, 324 states. 8 distinct answers of 64 given." in text
    assert "kernel Exact" in text


def test_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *TINY, "--json", "--seconds", "60"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["task"] == "hwf"
    assert read["recommendation"]["kernel"] == "Exact"
    assert (read["answers"], read["given"]) == (8, 64)
    assert all(size["exact"] for size in read["sizes"])


def test_no_data_are_read_where_the_task_says_what_occurs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(problem: EvenOdd, seed: int) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(EvenOdd, "load", load)
    assert main(["inspect", "evenodd", "--data", "mnist", "--data-dir", "nowhere"]) == 0
    assert "36 maps explain every answer, 2 of them one-to-one" in " ".join(capsys.readouterr().out.split())


def test_both_presets_bring_their_kernels() -> None:
    made = Experiment.named("hwf", length=3, train_size=64, test_size=8, image_size=8, seed=3)
    kernels = kernels_of(made.recipe, made.task, made.train.y)  # type: ignore[arg-type, union-attr]
    assert list(kernels) == ["preset best", "preset paper"]
    assert isinstance(kernels["preset best"], Exact)
    assert isinstance(kernels["preset paper"], Metropolis)


def test_help_and_refusals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["inspect", "sudoku", "--help"]) == 0
    text = capsys.readouterr().out
    for option in ("--size {4,9}", "--sample", "--seconds", "--help-all"):
        assert option in text
    assert main(["inspect"]) == 0
    assert "sdsp" in capsys.readouterr().out
    assert main(["inspect", "hwf", "--sample", "0", "--length", "3", "--train-size", "16", "--test-size", "8"]) == 2
    assert "at least one answer" in capsys.readouterr().err
