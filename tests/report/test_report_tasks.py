"""Reports of the other tasks: boards whose digits have no names of their own, and real-valued symbols."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_cases import hurry
from report_cases import Page, loads
from softground.cli import main

SUDOKU = ["sudoku", "--train-size", "12", "--test-size", "8", "--epochs", "2"]
PATHS = ["sdsp", "--nodes", "5", "--train-size", "12", "--test-size", "8", "--epochs", "2"]


@pytest.fixture(autouse=True, scope="module")
def hurried() -> Iterator[None]:
    yield from hurry()


def report(arguments: list[str], out: Path) -> Page:
    assert main(["train", *arguments, "--device", "cpu", "--quiet", "--out", str(out)]) == 0
    html = (out / "report.html").read_text()
    assert loads(html) == []
    return Page(html)


def test_boards_are_shown_as_boards(tmp_path: Path) -> None:
    page = report(SUDOKU, tmp_path / "run")
    assert [a["id"] for a in page.all("section")] == [
        "held-out",
        "watched",
        "symbols",
        "figures",
        "curves",
        "confidence",
        "time",
        "config",
    ]
    assert "--n:4" in {a["style"] for a in page.all("div", "sites")}
    assert len(page.all("img")) % 16 == 0
    for metric in ("board accuracy", "relabelled symbol accuracy"):
        assert metric in page.text


def test_distances_are_drawn_and_have_no_confusion_matrix(tmp_path: Path) -> None:
    page = report(PATHS, tmp_path / "run")
    assert [a["id"] for a in page.all("section")] == ["held-out", "watched", "figures", "curves", "time", "config"]
    assert "a graph of 5 vertices" in page.text
    assert "spearman" in page.text
    assert page.all("circle", "dot")
    assert page.all("circle", "ring")
    records = [json.loads(line) for line in (tmp_path / "run" / "gallery.jsonl").read_text().splitlines()]
    assert [len(r["predicted"][0]) for r in records] == [5, 5, 5]
    assert all(isinstance(v, float) for v in records[-1]["grounded"][0])


def test_supervision_has_no_chains_to_show(tmp_path: Path) -> None:
    page = report([*SUDOKU, "--objective", "sup"], tmp_path / "run")
    assert "what the network reads after an epoch" in page.text
    assert "acceptance" not in page.text
    assert "Temperature" not in page.text
