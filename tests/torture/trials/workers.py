"""The same training run with one, two and four workers and with chunks of any size leaves the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softground.constraints.smt import SMT
from softground.inverses.z3 import Z3

from ..trial import Tally, Trial
from ._faulty import rule, total, train
from ._same import assert_same, left_behind

SETTINGS: list[dict[str, Any]] = [
    {"workers": workers, "chunk": chunk, "table": table}
    for table in (4096, 0)
    for chunk in (None, 1, 3, 1000)
    for workers in (2, 4)
]


def trained(folder: Path, seed: int, **settings: Any) -> dict[str, Any]:
    """What a run leaves behind that no clock decides."""
    program = rule()
    train(Z3(SMT(total, program.space, answers=program), **settings), program, seed, count=32, out=folder)
    return left_behind(folder)


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """The first ``cases`` settings beside one process."""
    alone = {table: trained(folder / f"alone {table}", seed, table=table) for table in (4096, 0)}
    for number, settings in enumerate(SETTINGS[:cases]):
        name = ", ".join(f"{key} {value}" for key, value in settings.items())
        with tally.case(name):
            assert_same(trained(folder / str(number), seed, **settings), alone[settings["table"]])


TRIAL = Trial("workers", 20, "1, 2 and 4 workers", "identical results", full=len(SETTINGS), short=3, run=run)
