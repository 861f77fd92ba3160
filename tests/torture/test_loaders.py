"""The trial of loaders can fail: what is loud, silent about the path, wrong, slow or greedy does not survive."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest

from softground.errors import DataError
from torture.trial import Tally
from torture.trials import _bounds, loaders
from torture.trials._damage import damaged
from torture.trials._sources import Loader

CASES = 40


def make(folder: Path) -> list[Path]:
    (folder / "numbers.txt").write_text("1 2 3")
    return [folder / "numbers.txt"]


def right(folder: Path) -> None:
    """Reads whole numbers, and refuses all else in the library's own words."""
    path = folder / "numbers.txt"
    try:
        if not path.is_file() or path.stat().st_size > 10**6:
            raise ValueError("no small file")
        [int(word) for word in path.read_bytes().split()]
    except ValueError as error:
        raise DataError(f"{path} holds no numbers ({str(error)[:50]}): write some.") from error


def loud(folder: Path) -> None:
    try:
        right(folder)
    except DataError as error:
        raise ValueError("no numbers") from error


def pathless(folder: Path) -> None:
    try:
        right(folder)
    except DataError as error:
        raise DataError("Something is wrong.") from error


def wordy(folder: Path) -> None:
    try:
        right(folder)
    except DataError as error:
        raise DataError(f"{folder} is wrong. " * 1000) from error


def warning(folder: Path) -> None:
    warnings.warn("a strange file", stacklevel=1)
    right(folder)


def trusting(folder: Path) -> None:
    """Takes whatever there is."""
    if (folder / "numbers.txt").is_file() and (folder / "numbers.txt").stat().st_size < 10**6:
        assert (folder / "numbers.txt").read_bytes() == b"1 2 3"


def endless(folder: Path) -> None:
    if not (folder / "numbers.txt").is_file():
        time.sleep(60)
    right(folder)


def greedy(folder: Path) -> None:
    if not (folder / "numbers.txt").is_file():
        np.ones(64 * 2**20, np.uint8)
    right(folder)


def tally(load: Callable[[Path], None], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tally:
    monkeypatch.setattr(loaders, "LOADERS", (Loader("numbers", make, load, damaged),))
    monkeypatch.setattr(loaders, "records", lambda: nullcontext([]))
    monkeypatch.setattr(loaders, "SECONDS", 0.2 if load is endless else loaders.SECONDS)
    monkeypatch.setattr(loaders, "MEMORY", 32.0)
    monkeypatch.setattr(loaders, "NAMES", ("plain", "odd 😀"))
    monkeypatch.setattr(loaders.Loading, "source", _unchecked)  # a broken loader need not take the right source
    result = Tally()
    loaders.run(result, CASES, 1, folder)
    assert result.tried == CASES
    return result


def _unchecked(self: loaders.Loading, loader: Loader, name: str) -> tuple[Path, dict[Path, bytes]]:
    place = self.folder / name
    place.mkdir(exist_ok=True)
    return place, {path: path.read_bytes() for path in loader.make(place)}


def test_a_right_loader_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tally(right, tmp_path, monkeypatch).survived == CASES


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (loud, "ValueError"),
        (pathless, "the path is not named"),
        (wordy, "a message of"),
        (warning, "warned: a strange file"),
        (trusting, "AssertionError"),
        (endless, "no end after 0.2 s"),
        (greedy, "MiB"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_loader_with_a_fault_does_not(
    load: Callable[[Path], None], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tally(load, tmp_path, monkeypatch)
    assert result.survived < CASES
    assert words in result.failures[0]


def test_time_runs_out_even_where_every_exception_is_caught() -> None:
    def deaf() -> None:
        for _ in range(1000):
            with suppress(Exception):
                time.sleep(0.01)

    with pytest.raises(AssertionError, match="no end"), _bounds.within(0.05):
        deaf()
