"""Progress: of long preparations with the time that is left, and of ``Learner.fit``, where there is a terminal."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext, suppress
from typing import Any

import pytest
import torch
from rich.console import Console

from learner_cases import addition, examples, make_learner
from softground import SMT, Categorical, Program
from softground import preparing as seam
from softground.inverses import Enumeration, Table, solutions, solved, table
from softground.inverses import z3 as z3_file
from softground.preparing import hushed, preparing, watched
from softground.report.progress import Display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Every look at it takes as long as the one before: half a second."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        self.now += 0.5
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seam, "time", Clock())


def look_at(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in place of stderr; not a fixture, because pytest puts its own there before a test."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("RANK", raising=False)
    return screen


def told(what: str = "Parts") -> list[str]:
    """What a watcher is told of ten parts, after each."""
    said: list[str] = []
    with watched(said.append), preparing(what, 10) as done:
        for part in range(10):
            done(part + 1)
    return said


def test_what_is_quick_is_not_told() -> None:
    assert told() == []


@pytest.mark.usefixtures("clock")
def test_the_time_left_follows_from_the_parts_done() -> None:
    said = told()
    assert said[:2] == ["Parts: 2 of 10, 4 s left", "Parts: 3 of 10, 4 s left"]  # half a second each
    assert said[-2:] == ["Parts: 9 of 10, 1 s left", ""]


@pytest.mark.usefixtures("clock")
def test_where_nothing_is_done_yet_that_is_told() -> None:
    said: list[str] = []
    with watched(said.append), preparing("Parts", 10) as done:
        for _ in range(3):
            done(0)
    assert said == ["Parts: 0 of 10 so far"] * 2 + [""]


@pytest.mark.usefixtures("clock")
def test_the_line_is_cleared_though_the_preparation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at(monkeypatch)
    with suppress(ZeroDivisionError), preparing("Parts", 10) as done:
        done(1)
        done(2)
        raise ZeroDivisionError
    lines = terminal.getvalue().split("\r\x1b[K")
    assert lines[1] == "Parts: 2 of 10, 4 s left"
    assert lines[-1] == ""


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("why", ["no terminal", "hushed", "another process"])
def test_nothing_is_printed(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO() if why == "no terminal" else Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("RANK", "1" if why == "another process" else "0")
    with hushed() if why == "hushed" else nullcontext(), preparing("Parts", 10) as done:
        for part in range(5):
            done(part + 1)
    assert screen.getvalue() == ""


@pytest.mark.usefixtures("clock")
def test_where_there_is_no_terminal_a_line_now_and_then_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setenv("RANK", "0")
    with preparing("Parts", 200) as done:
        for part in range(120):
            done(part + 1)
    lines = log.getvalue().splitlines()
    assert lines[0] == "Parts: 32 of 200, 3 min left"
    assert len(lines) == 3  # in two minutes, of which the first half says nothing
    assert seam.line.since is None


@pytest.mark.usefixtures("clock")
def test_another_watcher_stays_when_the_line_is_hushed() -> None:
    said: list[str] = []
    with watched(said.append), hushed(), preparing("Parts", 10) as done:
        done(1)
        done(5)
    assert said == ["Parts: 5 of 10, 1 s left", ""]


@pytest.mark.usefixtures("clock")
def test_tables_and_first_states_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_STATES", 100)
    monkeypatch.setattr(solved, "QUERIES_PER_WORKER", 4)
    space = Categorical([range(10)] * 3)
    program = Program(lambda *digits: sum(digits), space)
    said: list[str] = []
    with watched(said.append):
        Table(program)
    assert said[0] == "Table of the states: 200 of 1,000, 4 s left"
    assert said[-1] == ""

    y = program.encode([3, 5, 9] * 8)
    said.clear()
    with watched(said.append):
        Enumeration(space, program, cap=100).start(y, 0)
    assert [text for text in said if text and not text.startswith("First states: ")] == []
    assert len(said) > 1

    smt = SMT(lambda sites, answer: sum(sites) == answer, space)
    said.clear()
    with watched(said.append):
        apart = z3_file.Z3(smt).start(smt.encode([3, 5, 9] * 8), 0)
    assert said[:2] == ["First states: 8 of 24, 2 s left", "First states: 12 of 24, 2 s left"]
    monkeypatch.setattr(solved, "QUERIES_PER_WORKER", 64)
    assert torch.equal(apart.z, z3_file.Z3(smt).start(smt.encode([3, 5, 9] * 8), 0).z)  # as if all were asked at once
    said.clear()
    monkeypatch.setattr(solved, "QUERIES_PER_WORKER", 1)
    with watched(said.append):
        solutions(z3_file.Z3(smt), smt.encode([1, 2, 3, 4]))
    assert said[0] == "Lists of solutions: 2 of 4, 1 s left"


def fit(**given: Any) -> None:
    task = addition()
    make_learner(task).fit(examples(task, 64), **given)


def test_a_fit_shows_its_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at(monkeypatch)
    fit()
    assert "Stage I" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    assert "explained" in terminal.getvalue()


def test_a_fit_is_silent_when_told_so_and_writes_plain_lines_into_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = look_at(monkeypatch)
    fit(quiet=True)
    assert terminal.getvalue() == ""
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    monkeypatch.setenv("FORCE_COLOR", "1")
    fit()
    lines = pipe.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines[:-1]][-4:] == [
        "Inverse",
        *(f"Stage I, epoch {n}/3" for n in (1, 2, 3)),
    ]
    assert lines[-1].endswith("checked on training answers only.")
    assert "\x1b" not in pipe.getvalue()
    assert capsys.readouterr().out == ""


def test_an_observer_is_told_beside_the_display_and_may_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at(monkeypatch)
    task, seen = addition(), list[str]()

    def observer(event: str, facts: dict[str, Any]) -> bool:
        seen.append(event)
        return event == "epoch"

    learner = make_learner(task).fit(examples(task, 64), observer=observer)
    assert len(learner.history_) == 1
    assert seen == ["begin", "batch", "batch", "epoch", "stage", "end"]
    assert "1/3" in terminal.getvalue()


@pytest.mark.usefixtures("clock")
def test_the_display_shows_preparations_in_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at(monkeypatch)

    def observer(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            with preparing("More of them", 10) as done:
                for part in range(5):
                    done(part + 1)
                    display.refresh()

    shown = Display(Console(stderr=True))
    display = shown.progress
    with shown:
        fit(observer=observer, quiet=True)
    assert "More of them: 2 of 10, 4 s left" in terminal.getvalue()
    assert "\r\x1b[KMore" not in terminal.getvalue()  # not on a line of its own, across the bars
