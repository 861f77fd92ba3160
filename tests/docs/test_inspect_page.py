"""The page on inspecting: its pictures, its command and its table are what the search finds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import softground as sg
from inspection_cases import maps_of
from softground.cli import main
from softground.inspection.maps import Consistent
from softground.tasks import TASKS
from softground.tasks.sudoku import sudoku_task

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "inspect.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shortcut_pictures", ROOT / "benchmarks" / "shortcut_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["shortcuts-pairs.svg", "shortcuts-maps.svg"])
def test_pictures_are_drawn_from_the_maps(pictures: ModuleType, name: str) -> None:
    assert (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") == pictures.PICTURES[name]()


def test_the_picture_says_what_the_page_says(pictures: ModuleType) -> None:
    maps = pictures.maps()
    assert sum(all(image != d for d, image in enumerate(f)) for f in maps) == 25  # no digit right
    one_to_one = [f for f in maps if len(set(f)) == 10]
    assert one_to_one == [tuple(range(10)), tuple((d + 5) % 10 for d in range(10))]


def test_the_command_says_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "evenodd"]) == 0
    shown = re.search(r"\$ softground inspect evenodd\n…\n(.*?)```", PAGE, re.S)
    assert shown is not None
    assert " ".join(shown[1].split()) in " ".join(capsys.readouterr().out.split())


def test_the_table() -> None:
    def sums(rule: object) -> sg.Task:
        space = sg.Categorical([range(10)] * 2)
        return sg.Task(space, sg.Program(rule, space))  # type: ignore[arg-type]

    tasks: dict[str, tuple[object, object]] = {
        "MNIST-EvenOdd": (TASKS["evenodd"]().task(), TASKS["evenodd"]().support()),
        "MNIST-Half": (TASKS["half"]().task(), TASKS["half"]().support()),
        "sums of two digits": (sums(lambda a, b: a + b), None),
        "sums modulo 2": (sums(lambda a, b: (a + b) % 2), None),
        "Sudoku, 4×4": (sudoku_task(4), None),
    }
    table = dict(re.findall(r"^\| ([^|]+) \| (?:[^|]+) \| (.*) \|$", PAGE, re.M))
    for name, (task, support) in tasks.items():
        answers = [True] if name.startswith("Sudoku") else None
        found = maps_of(task, support, answers)  # type: ignore[arg-type]
        assert table[name] == f"{found.every.count:,} | {found.one_to_one.count:,} | {fewest(found)}"


def fewest(found: Consistent) -> str:
    every, one = found.every.labels, found.one_to_one.labels
    assert every is not None
    assert one is not None
    if not every.fewest:
        return "none"
    return str(every.fewest) if one == every else f"{every.fewest} (one-to-one: {one.fewest or 'none'})"
