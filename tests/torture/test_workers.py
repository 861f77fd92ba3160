"""The trial of worker counts fails where workers change what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from softground.solver import cells
from torture.trial import Tally
from torture.trials import workers

pytest.importorskip("z3")
if not cells.can_fork():
    pytest.skip("this system cannot fork", allow_module_level=True)


def test_workers_that_list_solutions_in_another_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = cells.Crew.solve

    def backwards(self: cells.Crew, jobs: Any, chunk: int) -> Any:
        return solve(self, jobs[::-1], chunk)  # outcomes no longer belong to their jobs

    monkeypatch.setattr(cells.Crew, "solve", backwards)
    tally = Tally()
    workers.run(tally, 1, 0, tmp_path)
    assert (tally.tried, tally.survived) == (1, 0)


def test_every_count_and_chunk_is_tried() -> None:
    assert {s["workers"] for s in workers.SETTINGS} == {2, 4}
    assert {s["chunk"] for s in workers.SETTINGS} == {None, 1, 3, 1000}
    assert {s["backend"] for s in workers.SETTINGS} == {"loky", "multiprocessing"}
