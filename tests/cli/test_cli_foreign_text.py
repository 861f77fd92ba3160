"""Text from run folders, answers and file names is shown; it gives no orders to a terminal or a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import softground as sg
from softground.cli import main
from softground.learner.run_folder import Suspect, suspects_as_csv
from softground.runs.folder import CONFIG

CLEAR, RED = "\x1b[2J", "\x1b[31m"
SYMBOLS = ["=cmd|'/c calc'!A1", f"a{CLEAR}", "+", "-7"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose task, symbols and answers hold what a terminal or a spreadsheet would obey."""
    space = sg.Categorical([SYMBOLS] * 2)
    task = sg.Task(space, sg.Program(lambda a, b: f"@{a}{b}", space), name=f"{RED}task")
    x = torch.randint(256, (16, 2, 1, 4, 4), dtype=torch.uint8)
    y = [f"@{SYMBOLS[k % 4]}{SYMBOLS[k // 4]}" for k in range(16)]
    layer = torch.nn.Linear(16, 4)
    layer.weight.data = torch.eye(4, 16)  # reads the brightest of four pixels
    network = sg.PerSite(torch.nn.Sequential(torch.nn.Flatten(), layer), (1, 4, 4))
    folder = tmp_path_factory.mktemp("foreign") / "run"
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=1), device="cpu")
    learner.fit(sg.Examples(x, y), out=folder, quiet=True)
    return folder


@pytest.fixture
def images(tmp_path: Path) -> list[str]:
    """Many examples, so that every symbol is read."""
    names = []
    for k, frame in enumerate(np.random.default_rng(0).integers(0, 256, (64, 4, 4), dtype=np.uint8)):
        names.append(str(tmp_path / f"{CLEAR}{k}.png"))
        Image.fromarray(frame).save(names[-1])
    return names


def test_no_controls_reach_the_terminal(run: Path, images: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["runs", "list", str(run.parent)],
        ["runs", "compare", str(run), str(run)],
        ["predict", str(run), *images],
        ["predict", str(run), *images, "--csv"],
        ["report", str(run)],
    ):
        assert main(words) == 0
    out = capsys.readouterr()
    assert "\x1b" not in out.out + out.err
    assert r"\x1b[31mtask" in out.out
    assert r"a\x1b[2J" in out.out
    assert main(["evaluate", f"{run}{CLEAR}"]) == 2
    assert r"\x1b[2J: there is no such folder" in capsys.readouterr().err


def test_no_cell_is_a_formula(run: Path, images: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(run), *images, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["symbol"] for row in rows} == {"'=cmd|'/c calc'!A1", r"a\x1b[2J", "+", "-7"}
    assert all(row["value"].startswith("'@") for row in rows)
    suspect = Suspect(3, "=1+1", "- x", "-7/2", 0.25)
    found = next(csv.DictReader(io.StringIO(suspects_as_csv([suspect]).decode())))
    assert list(found.values()) == ["3", "'=1+1", "'- x", "-7/2", "0.25"]


def test_a_run_folder_of_another_hand_cannot_command_the_terminal(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / CONFIG).write_text(json.dumps({"format": 3, "task": f"{CLEAR}\x9b2J\u202e"}))
    assert main(["runs", "list", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert r"\x1b[2J\x9b2J\u202e" in out
    assert main(["evaluate", str(tmp_path / "other")]) == 2
    assert not set("\x1b\x9b\u202e") & set(capsys.readouterr().err)
