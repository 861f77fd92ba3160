"""softground solve: puzzles as images, test puzzles, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from softground.cli import main
from softground.data.digits import load_digits
from softground.experiments import Experiment
from softground.tasks.sudoku import search
from softground.tasks.sudoku.puzzles import Puzzles, inked, read_puzzles


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4×4 boards, learnt quickly and well, with labels."""
    folder = tmp_path_factory.mktemp("solve") / "run"
    options = {"train_size": 80, "test_size": 5, "epochs": 6, "batch_size": 4, "augment": False, "network": "lenet"}
    Experiment.named("sudoku", objective="sup", device="cpu", **options).run(folder, quiet=True, silent=True)
    return folder


@pytest.fixture(scope="module")
def puzzles() -> Puzzles:
    return Puzzles.of(load_digits("digits", None)[1], 4, 3, 7, np.random.default_rng(0))


def picture(cells: torch.Tensor, path: Path, lines: bool = False) -> str:
    """A puzzle as people draw it: dark on white, with lines between the cells if asked for."""
    size = 4
    page = cells[:, 0].numpy().reshape(size, size, 16, 16)
    page = np.pad(page, ((0, 0), (0, 0), (8, 8), (8, 8)))
    if lines:
        page[:, :, 0], page[:, :, :, 0] = 255, 255
    Image.fromarray(255 - page.transpose(0, 2, 1, 3).reshape(size * 32, size * 32)).save(path)
    return str(path)


def test_test_puzzles_are_solved(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", str(run), "--count", "20", "--givens", "6", "--device", "cpu", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["puzzles"] == 20
    assert 6 <= figures["givens"] < 8
    assert figures["puzzle_accuracy"] == figures["relabelled_puzzle_accuracy"] > 0.8
    assert main(["solve", str(run), "--count", "5", "--device", "cpu"]) == 0
    assert "relabelled puzzle accuracy" in capsys.readouterr().out


def test_cells_in_files_are_solved(
    run: Path, puzzles: Puzzles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for place, cell in enumerate(puzzles.x[:2].flatten(0, 1)[:, 0]):
        files.append(str(tmp_path / f"{place}.png"))
        Image.fromarray(cell.numpy()).save(files[-1])
    assert main(["solve", str(run), *files, "--cells", "--device", "cpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["named"]
    assert [one["solution"] for one in told["puzzles"]] == (puzzles.boards[:2] + 1).tolist()
    assert [digit > 0 for digit in told["puzzles"][0]["read"]] == inked(puzzles.x)[0].tolist()
    assert main(["solve", str(run), *files[:16], "--cells", "--device", "cpu"]) == 0
    first = " ".join(str(digit + 1) for digit in puzzles.boards[0, :4].tolist())
    assert capsys.readouterr().out.startswith(first)


@pytest.mark.parametrize("lines", [False, True])
def test_pictures_are_cut_into_cells_and_lines_are_no_ink(puzzles: Puzzles, tmp_path: Path, lines: bool) -> None:
    files = [Path(picture(x, tmp_path / f"{n}.png", lines)) for n, x in enumerate(puzzles.x)]
    x = read_puzzles(files, 4, (1, 16, 16))
    assert torch.equal(inked(x), inked(puzzles.x))


def test_what_cannot_be_solved_is_said(
    run: Path, puzzles: Puzzles, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blank = picture(torch.zeros(16, 1, 16, 16, dtype=torch.uint8), tmp_path / "blank.png")
    small = tmp_path / "small.png"
    Image.new("L", (9, 9)).save(small)
    good = picture(puzzles.x[0], tmp_path / "good.png")
    for given, message in (
        ([blank], "shows 0 digits"),
        ([str(small)], "cannot be cut into 4×4 cells"),
        ([str(tmp_path / "none.png")], "does not exist"),
        ([good, "--cells"], "an example has 16 symbols"),
        (["--givens", "3"], "4 to 16 givens"),
        (["--count", "0"], "positive number of puzzles"),
    ):
        assert main(["solve", str(run), *given, "--device", "cpu"]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    monkeypatch.setattr(search, "NODES", 0)
    assert main(["solve", str(run), good, "--device", "cpu"]) == 0
    assert "No digits that the network finds probable" in capsys.readouterr().out


def test_a_run_of_another_task_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"train_size": 20, "epochs": 1, "network": "lenet", "device": "cpu"}
    Experiment.named("addition", **options).run(tmp_path / "sums", quiet=True, silent=True)
    assert main(["solve", str(tmp_path / "sums")]) == 2
    assert "a run of addition" in capsys.readouterr().err
