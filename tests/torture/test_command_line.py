"""The trial of command lines can fail: tracebacks, odd exit codes, silence, hangs and files elsewhere are counted."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

from torture.trial import Tally
from torture.trials import command_line
from torture.trials._lines import SMALL, line

CASES = 20


def refused(words: list[str]) -> int:
    print("softground: DataError: no.", file=sys.stderr)
    return 2


def loud(words: list[str]) -> int:
    raise ValueError("that went wrong")


def odd(words: list[str]) -> int:
    return 3


def silent(words: list[str]) -> int:
    return 2


def usage(words: list[str]) -> int:
    print("usage", file=sys.stderr)
    sys.exit(2)


def shown(words: list[str]) -> int:
    print("Traceback (most recent call last): and so on", file=sys.stderr)
    return 2


def wordy(words: list[str]) -> int:
    print("softground: DataError: one line,\nand another", file=sys.stderr)
    return 2


def endless(words: list[str]) -> int:
    time.sleep(60)
    return 0


def elsewhere(words: list[str]) -> int:
    Path("../outside").touch()
    return 0


def unprintable(words: list[str]) -> int:
    print("\ud800")
    return 0


def tally(main: Callable[[list[str]], int], folder: Path, monkeypatch: pytest.MonkeyPatch, cases: int) -> Tally:
    @contextmanager
    def inside(run: Path, place: Path):  # type: ignore[no-untyped-def]
        monkeypatch.chdir(place)
        yield

    @contextmanager
    def no_run():  # type: ignore[no-untyped-def]
        yield folder

    monkeypatch.setattr(command_line, "main", main)
    monkeypatch.setattr(command_line, "kept_short", inside)
    monkeypatch.setattr(command_line, "small_run", no_run)
    monkeypatch.setattr(command_line, "SECONDS", 0.2 if main is endless else command_line.SECONDS)
    result = Tally()
    command_line.run(result, cases, 1, folder)
    assert result.tried == cases
    return result


@pytest.mark.parametrize("main", [refused, usage], ids=lambda main: main.__name__)
def test_what_is_refused_in_words_survives(
    main: Callable[[list[str]], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tally(main, tmp_path, monkeypatch, CASES).survived == CASES


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (loud, "ValueError: that went wrong"),
        (odd, "exit code 3"),
        (silent, "without a word"),
        (shown, "Traceback"),
        (wordy, "more than a line"),
        (endless, "no end after 0.2 s"),
        (elsewhere, "written outside"),
        (unprintable, "UnicodeEncodeError"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_not_does_not(
    main: Callable[[list[str]], int], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tally(main, tmp_path, monkeypatch, 5)
    assert result.survived < 5
    assert words in result.failures[0]


def test_lines_name_every_command_and_task() -> None:
    from softground.cli import COMMANDS
    from softground.tasks import TASKS

    rng = random.Random(0)
    said = {word for _ in range(500) for word in line(rng)[:2]}
    assert set(COMMANDS) | set(TASKS) <= said
    assert set(SMALL) <= set(TASKS)
