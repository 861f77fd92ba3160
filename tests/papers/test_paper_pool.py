"""Cells in processes of their own: records as they end, none lost but those under way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper_cases import WORKER, cells, on_record
from papers.li2023.cell import Cell, Where
from papers.li2023.pool import Progress, run_all
from papers.li2023.store import Store
from softground.errors import DataError


def run(wanted: list[Cell], store: Store, **more: Any) -> Progress:
    return run_all(wanted, store, Where("cpu"), worker=WORKER, **more)


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_cell_leaves_a_record(tmp_path: Path, jobs: int) -> None:
    store, wanted = Store(tmp_path), cells("a/0", "a/1", "b/0", "c/0")
    seen: list[tuple[str, int]] = []
    progress = run(wanted, store, jobs=jobs, report=lambda c, a, p: seen.append((c.name, p.done)))
    assert on_record(store, wanted) == [c.name for c in wanted]
    assert progress.done == progress.total == 4
    assert [done for _, done in seen] == [1, 2, 3, 4]
    kept = store.read(wanted[0])
    assert kept is not None
    assert kept["jobs"] == jobs
    assert kept["wall_seconds"] >= 0
    assert not list(tmp_path.rglob("*.tmp"))


def test_an_interruption_loses_only_what_was_running(tmp_path: Path) -> None:
    store, wanted = Store(tmp_path), cells("a/0", "b/0", "c/0")

    def stop(cell: Cell, answer: dict[str, Any], progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(wanted, store, report=stop)
    assert on_record(store, wanted) == ["a/0"]
    first = store.read(wanted[0])
    run([cell for cell in wanted if not store.finished(cell)], store)
    assert on_record(store, wanted) == ["a/0", "b/0", "c/0"]
    assert store.read(wanted[0]) == first


def test_a_cell_that_fails_takes_nobody_with_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    wanted = [*cells("dies/0", say="die"), *cells("refuses/0", say="LearnerError: no"), *cells("works/0")]
    progress = run(wanted, store)
    assert on_record(store, wanted) == ["works/0"]
    assert progress.failed["refuses/0"] == "LearnerError: no"
    assert "code 9" in progress.failed["dies/0"]
    assert "out of memory" in progress.failed["dies/0"]


def test_missing_data_stop_everything(tmp_path: Path) -> None:
    store = Store(tmp_path)
    wanted = [*cells("lacks/0", say="DataError: there is no hwf.npz"), *cells("never/0")]
    with pytest.raises(DataError, match=r"^there is no hwf\.npz$"):
        run(wanted, store)
    assert on_record(store, wanted) == []


def test_cells_that_run_over_time_are_stopped(tmp_path: Path) -> None:
    store = Store(tmp_path)
    slow = [Cell("slow/0", "law", "hwf", 0, {"sleep": 600}, seconds=0.1)]
    progress = run(slow, store, seconds=0.3)
    assert progress.left == ["slow/0"]
    assert on_record(store, slow) == []
