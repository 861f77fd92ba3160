"""The trial of kills can fail, and its nursery kills when it should."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from torture.trial import Tally
from torture.trials import kills
from torture.trials._nursery import Death, Nursery

CHILD = """
import pathlib, signal
def leave(file): pathlib.Path(file).touch(); signal.pause()
def fail(): raise ValueError("out of sorts")
def code(code): return code
"""
# A run that does not put its dice back is another run.
SABOTEUR = """
from softground.dice import Streams
put_back = Streams.restore
Streams.restore = lambda self, states: put_back(self, states | {"dice": self.dice.state()})
"""


@pytest.fixture
def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    (tmp_path / "little_child.py").write_text(CHILD)
    monkeypatch.syspath_prepend(str(tmp_path))
    with Nursery(["little_child"]) as nursery:
        yield nursery


def test_children_end_as_they_should(nursery: Nursery, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert nursery.run("little_child:code", {"code": 3}, log).code == 3
    assert nursery.run("little_child:fail", {}, log).code == 1
    assert "ValueError: out of sorts" in log.read_text()
    ended = nursery.run("signal:pause", {}, log, Death(0.01))
    assert ended.killed
    assert ended.code == -signal.SIGKILL
    file = {"file": str(tmp_path / ".a.tmp")}
    assert nursery.run("little_child:leave", file, log, Death(0.0, file=1, folder=str(tmp_path))).killed
    assert nursery.run("little_child:code", {"code": 0}, log, Death(60.0)).code == 0


class Middle(random.Random):
    """Always the moment in the middle."""

    def randrange(self, count: int) -> int:  # type: ignore[override]
        return count // 2

    def random(self) -> float:
        return 0.5


def test_a_run_that_resumes_with_other_dice_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "saboteur.py").write_text(SABOTEUR)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(kills, "MODULES", [*kills.MODULES, "saboteur"])
    monkeypatch.setattr(kills.random, "Random", Middle)
    kills.run(tally := Tally(), 1, 0, tmp_path)
    assert (tally.tried, tally.survived) == (1, 0)
    assert "not as in the unbroken run: meta results, meta starts, metrics" in tally.failures[0]
    assert tally.notes == {"kills": 1, "in a save": 1, "of what was resumed": 0}
