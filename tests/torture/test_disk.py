"""The trial of failing disks notices files that are written in place, and writes that are not refused."""

from __future__ import annotations

import os
import random
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from softground import files
from softground.errors import CheckpointError
from softground.runs import RunFolder, checkpoint, folder
from torture.trials import _resuming, disk
from torture.trials._fork import forked
from torture.trials._pair import no_waiting, restore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and /proc")


@pytest.fixture
def prepared(tmp_path: Path) -> Any:
    os.chmod(tmp_path, 0o755)
    with no_waiting():
        found = disk._Disk(tmp_path, random.Random(3))
        found.prepare()
        yield found


def complaints(prepared: Any, cases: int = 40) -> list[str]:
    """What is wrong after faults at many calls."""
    found = []
    for _ in range(cases):
        try:
            prepared.fault()
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
        restore(prepared.run.path, prepared.pristine)
    return found


def test_files_written_in_place_are_noticed(prepared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_place(path: Path, data: bytes) -> None:
        try:
            with getattr(files, "open", open)(path, "wb") as stream:
                stream.write(data)
        except OSError as error:
            raise files.failure(path, "it could not be written", "Make room") from error

    for module in (checkpoint, folder):
        if hasattr(module, "replace_file"):
            monkeypatch.setattr(module, "replace_file", in_place)
    found = complaints(prepared)
    assert any("CheckpointError" in complaint for complaint in found), found


def test_without_a_lock_two_processes_train_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial demands that one of two is refused or waits its turn; here both enter."""

    def enter(arguments: list[str]) -> int:
        try:
            with RunFolder(Path(arguments[1])).lock():
                (tmp_path / f"inside {os.getpid()}").touch()
                while len(list(tmp_path.glob("inside *"))) < 2 and not (tmp_path / "refused").exists():
                    pass
            return 0
        except CheckpointError:
            (tmp_path / "refused").touch()
            return 2

    monkeypatch.setattr(_resuming, "main", enter)
    assert sorted(forked(lambda: _resuming.contested(tmp_path, 0.0), 30).value) == [0, 2]
    for path in tmp_path.iterdir():
        path.unlink()
    monkeypatch.setattr(RunFolder, "lock", lambda self: nullcontext())
    assert forked(lambda: _resuming.contested(tmp_path, 0.0), 30).value == [0, 0]
