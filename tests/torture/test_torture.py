"""Every trial on few cases, and the tally that counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.provenance import read_page
from torture.__main__ import attempt
from torture.table import PAGE, RESULTS, table
from torture.trial import Tally, Trial, Unavailable
from torture.trials import trials

SEED = 1


@pytest.mark.parametrize("key", list(trials()))
def test_everything_survives(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    trial = trials()[key]
    record = attempt(trial, trial.short, SEED)
    if "not_run" in record:
        pytest.skip(record["not_run"])
    assert record["failures"] == []
    assert record["tried"] == record["survived"] >= 1


def test_what_raises_has_not_survived(capsys: pytest.CaptureFixture[str]) -> None:
    def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
        for number in range(cases):
            with tally.case(f"case {number}"):
                assert number != 2, "two is too much"

    record = attempt(Trial("odd", 0, "a", "b", 5, 5, run), 5, 0)
    assert (record["tried"], record["survived"]) == (5, 4)
    assert record["failures"] == ["case 2: AssertionError: two is too much\nassert 2 != 2"]


def test_what_cannot_run_here_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
        raise Unavailable("there is no GPU")

    record = attempt(Trial("gpu", 0, "a", "b", 5, 5, run), 5, 0)
    assert record["not_run"] == "there is no GPU"
    assert "| a | b | not run: there is no GPU |" in table({"gpu": record})


def test_the_page_shows_the_committed_figures() -> None:
    page = read_page(RESULTS) if RESULTS.exists() else {}
    assert table(page) in PAGE.read_text() or not page
    assert set(page) <= set(trials())
