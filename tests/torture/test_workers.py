"""The trial of worker counts fails where workers change what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from softground.solver import crew
from torture.trial import Tally
from torture.trials import workers

pytest.importorskip("z3")
if not crew.CAN_FORK:
    pytest.skip("this system cannot fork", allow_module_level=True)


def test_workers_that_list_solutions_in_another_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = crew.Crew.solve

    def backwards(self: crew.Crew, queries: Any) -> Any:
        return solve(self, queries[::-1] if self.size > 1 else queries)  # replies no longer belong to their queries

    monkeypatch.setattr(crew.Crew, "solve", backwards)
    tally = Tally()
    workers.run(tally, 1, 0, tmp_path)
    assert (tally.tried, tally.survived) == (1, 0)


def test_every_count_and_chunk_is_tried() -> None:
    assert {s["workers"] for s in workers.SETTINGS} == {2, 4}
    assert {s["chunk"] for s in workers.SETTINGS} == {None, 1, 3, 1000}
    assert {s["table"] for s in workers.SETTINGS} == {0, 4096}
