"""Every ``softground`` command that a page shows is run, on little data; trainings are set up, and not trained."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from PIL import Image
from test_site import COMMAND, WRITTEN, blocks

from cli_cases import hurry, train
from softground.cli import main
from softground.experiments import Experiment
from softground.tasks import TASKS

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
SHELL = "\n".join(block.code for path in WRITTEN for block in blocks(path) if block.language == "sh")
LINES = sorted({" ".join(" ".join(words).split()) for words in COMMAND.findall(SHELL)})
# Of the others, which need data, a machine or a reader that is not here, test_site compares the options with --help.
ELSEWHERE = re.compile(r"DIR|HOST|\$|^solve|^open|^export|runs /|hwf …|--size 9|receipts\.py")
SMALL = {"train_size": 40, "test_size": 8, "image_size": 8, "length": 3}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands name: a run, pictures."""
    folder = tmp_path_factory.mktemp("commands")
    assert train(folder / "RUN", "best", "--quiet", "--epochs", "1", "--network", "lenet") == 0
    Image.new("L", (8, 8)).save(folder / "IMAGE…", "PNG")
    (folder / "runs").mkdir()
    return folder


def small(line: str) -> list[str]:
    """The words of a command, for little data."""
    command, *words = line.replace("IMAGE…", " ".join(["IMAGE…"] * 5)).split()
    if command in ("train", "inspect") and words[0] in TASKS:
        for name in sorted(SMALL.keys() & {f.name for f in fields(TASKS[words[0]])}):
            words += [f"--{name.replace('_', '-')}", str(SMALL[name])]
    return [command, *words, *(["--seconds", "1"] if command == "inspect" else [])]


@pytest.mark.filterwarnings("ignore:Inputs have")  # the images are blank
@pytest.mark.parametrize("line", [line for line in LINES if not ELSEWHERE.search(line)])
def test_it_runs(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    if line != "resume RUN":
        monkeypatch.setattr(Experiment, "run", lambda self, *folder, **how: {})
    assert main(small(line)) == 0
