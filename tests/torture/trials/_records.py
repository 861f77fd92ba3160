"""Loaders of what runs leave behind: run folders, their reports, and the records of a reproduction."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from papers.li2023 import render
from papers.li2023.plan import plan
from papers.li2023.store import Store
from softground.cli import main
from softground.cli.loading import load_run
from softground.report.facts import Facts
from softground.report.html import run_page
from softground.runs import RunFolder
from softground.tasks.formulas.data import built_in

from ._damage import damaged, damaged_json
from ._sources import Loader

SHOWN = ("hwf/standard/exp", "sudoku/50/exp", "sdsp/recursive/exp", "proposition")  # families of records
# A run of a second: 3,000 parameters would do, but it is a real one.
TINY = [
    "train",
    "hwf",
    "--length",
    "3",
    "--train-size",
    "32",
    "--test-size",
    "16",
    "--image-size",
    "8",
    "--epochs",
    "1",
]
TINY += ["--network", "lenet", "--device", "cpu", "--quiet", "--batch-size", "16"]
REPORTED = ("config.json", "metrics.jsonl", "summary.json", "gallery.jsonl", "report.json")


@contextmanager
def small_run() -> Iterator[Path]:
    """The folder of a run, made once; while it is there, the built-in operators are few, so that data load fast."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(built_in.OPERATOR_IMAGES, {"train": 16, "test": 8}):
        path = Path(folder) / "run"
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
            assert main([*TINY, "--out", str(path)]) == 0, said.getvalue()
        yield path


@contextmanager
def records() -> Iterator[list[Loader]]:
    """The loaders; a run is made for them, and removed in the end."""
    with small_run() as run:
        yield [
            Loader("run", _copy(run, _checkpoint), load_network, _either),
            Loader("report", _copy(run, lambda path: [path / name for name in REPORTED]), load_report, damaged_json),
            Loader("records", make_records, load_records, damaged_json),
        ]


def _copy(run: Path, victims: Callable[[Path], list[Path]]) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        shutil.copytree(run, folder, dirs_exist_ok=True)
        return victims(folder)

    return make


def _checkpoint(path: Path) -> list[Path]:
    return [path / "config.json", *sorted(path.glob("*.safetensors"))[-1:]]


def _either(data: bytes, rng: Any) -> bytes:
    return damaged_json(data, rng) if data.startswith(b"{") else damaged(data, rng)


def load_network(folder: Path) -> None:
    """A run's options, its data and its network."""
    load_run(RunFolder.open(folder), device="cpu")


def load_report(folder: Path) -> None:
    """Everything that a report shows, and the page itself."""
    assert "</html>" in run_page(Facts.read(RunFolder.open(folder)))


def make_records(folder: Path) -> list[Path]:
    """Records of a few cells of one seed, with figures made up."""
    store, figures = Store(folder), {"symbol_accuracy": 0.5, "calculation_accuracy": 0.25, "board_accuracy": 0.5}
    found = {"test": figures, "train": figures, "grounded": 3, "examples": 4, "epochs": 1}
    results: dict[str, dict[str, Any]] = {
        "train": {"stages": {"I": found, "II": found}, "annealing": {"moved": 0.8}, "note": ""},
        "jump": {"moved": {"after_1": 0.25, "after_10": 0.75}},
        "z3": {"inversions": {"one": {"milliseconds": 8.5}}},
        "law": {
            "answer": "6",
            "states": 20,
            "rows": [
                {
                    "kernel": "metropolis",
                    "dropped": 2,
                    "gamma": 1.0,
                    "steps": 1,
                    "distance": 0.5,
                    "worst": 1.0,
                    "bias": 0.1,
                }
            ],
        },
    }
    paths = []
    for cell in plan("all", 1):
        if cell.kind in ("jump", "z3") or cell.family in SHOWN:
            about = {"commit": "0123456789ab", "command": "python -m papers.li2023", "settings": cell.settings}
            store.write(
                cell,
                {
                    "name": cell.name,
                    "kind": cell.kind,
                    "options": dict(cell.options),
                    "seed": cell.seed,
                    "result": results[cell.kind],
                    "seconds": 1.0,
                    "wall_seconds": 2.0,
                    "jobs": 1,
                    "device": "cpu",
                    "environment": {"gpu": None, "cpus": 2},
                }
                | about,
            )
            paths.append(store.path(cell))
    return paths


def load_records(folder: Path) -> None:
    """The reproduction's page and its tables."""
    with patch.object(render, "draw", return_value=[]):  # plots take a second
        assert len(render.render(Store(folder), "all", folder / "page.md")) == 3


__all__ = ["TINY", "records", "small_run"]
