"""The trial of malicious run folders notices what is executed, written, loaded into memory, or shown as markup."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from softground.report.html import page
from softground.runs import checkpoint
from torture.trials import malice
from torture.trials._commands import small_task
from torture.trials._fork import forked
from torture.trials._payloads import PAYLOADS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and /proc")
Place = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with small_task():
        yield malice.prepare(tmp_path_factory.mktemp("malice"))


def attack(prepared: Place, tmp_path: Path, payload: str, reader: str) -> None:
    """One case, as the trial does it; raises where it did not survive."""
    pristine, image, outside = prepared
    victim = tmp_path / "run"
    shutil.copytree(pristine, victim)
    own = tmp_path / "outside"
    shutil.copytree(outside, own)
    before = malice.contents(own)
    PAYLOADS[payload](victim, own)
    ended = forked(partial(malice.read, reader, victim, image), malice.SECONDS, malice.ROOM)
    malice.examine(reader, ended, victim, own, before)


def test_there_are_enough_payloads_for_every_reader() -> None:
    everything = malice.cases_of(malice.TRIAL.full, 0)
    assert len(PAYLOADS) >= 20
    assert len(set(everything)) == len(PAYLOADS) * len(malice.READERS) == len(everything)


@pytest.mark.parametrize("payload", ["pickle", "a terabyte of nothing", "options that steer a terminal"])
def test_what_is_refused_survives(prepared: Place, tmp_path: Path, payload: str) -> None:
    attack(prepared, tmp_path, payload, "load_checkpoint")


def test_a_pickle_that_is_executed_is_noticed(prepared: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "unpack", lambda data: (pickle.loads(data), {}))
    with pytest.raises(AssertionError, match=r"pickle\.find_class.*os\.mkdir"):
        attack(prepared, tmp_path, "pickle", "load_checkpoint")


def test_memory_that_grows_with_what_a_file_says_is_noticed(
    prepared: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def believe(path: Path, limit: int) -> bytes:
        return b"x" * min(limit, 2**28)

    monkeypatch.setattr(malice, "BOUND", 2**27)
    monkeypatch.setattr(checkpoint, "memory_size", lambda: 2**50)
    monkeypatch.setattr(checkpoint, "read_bounded", believe)
    with pytest.raises(AssertionError, match="MiB of memory"):
        attack(prepared, tmp_path, "a terabyte of nothing", "load_checkpoint")


def test_markup_that_is_not_escaped_is_noticed(
    prepared: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = page.environment().overlay(autoescape=False)
    monkeypatch.setattr(page, "environment", lambda: careless)
    with pytest.raises(AssertionError, match="the report has"):
        attack(prepared, tmp_path, "markup in every text", "report")
