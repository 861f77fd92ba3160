"""One process trains in a run folder at a time; the lock ends with the process, however that ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from learner_cases import addition, examples, make_learner
from softground.errors import CheckpointError
from softground.runs import RunFolder, lock
from softground.runs.lock import LOCK, locked

# Takes the lock without importing torch, says so, and keeps it until it is killed or its input ends.
HOLDER = """
import importlib.util, pathlib, sys, types
root = pathlib.Path(sys.argv[1])
for name in ("softground", "softground.runs"):
    package = types.ModuleType(name)
    package.__path__ = [str(root / name.replace(".", "/"))]
    sys.modules[name] = package
from softground.runs.lock import locked
with locked(pathlib.Path(sys.argv[2])):
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock."""
    source = str(Path(lock.__file__).parents[2])
    command = [sys.executable, "-c", HOLDER, source, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "locked\n"
            yield holder
        finally:
            holder.kill()


def test_a_second_process_is_told_who_holds_it_and_what_to_do(tmp_path: Path) -> None:
    with another_process(tmp_path) as holder:
        with pytest.raises(CheckpointError) as caught, locked(tmp_path):
            pass
        message = str(caught.value)
        assert str(tmp_path) in message
        assert f"process {holder.pid} on " in message
        assert "Wait until it ends, or stop it" in message
        assert (tmp_path / LOCK).exists()


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    with another_process(tmp_path) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert (tmp_path / LOCK).exists()
        with locked(tmp_path):
            assert f"process {os.getpid()} on " in (tmp_path / LOCK).read_text()


def test_another_thread_may_not_take_it_either(tmp_path: Path) -> None:
    found: list[str] = []

    def other() -> None:
        try:
            with locked(tmp_path):
                found.append("taken")
        except CheckpointError as error:
            found.append(str(error))

    with locked(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert f"process {os.getpid()}" in found[0]
    other()
    assert found[1] == "taken"


def test_it_is_released_by_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_it(tmp_path: Path) -> None:
    """Such as a process that reads data, and outlives its parent for a moment."""
    ready, wait = os.pipe()
    child = 0
    try:
        with locked(tmp_path):
            child = os.fork()
            if child == 0:
                os.close(wait)
                os.read(ready, 1)
                os._exit(0)
        with locked(tmp_path):
            assert (tmp_path / LOCK).exists()
    finally:
        os.close(wait)
        os.close(ready)
        os.waitpid(child, 0)


def test_what_stands_in_the_file_is_not_believed(tmp_path: Path) -> None:
    with another_process(tmp_path):
        (tmp_path / LOCK).write_bytes(b"process \x1b[2J\xff of mine")
        with pytest.raises(CheckpointError, match="another process is training"), locked(tmp_path):
            pass


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs O_NOFOLLOW")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    (run / LOCK).symlink_to(outside)
    with pytest.raises(CheckpointError, match="nothing can be written"), locked(run):
        pass
    assert outside.read_text() == "precious"


def test_a_folder_that_cannot_be_written_to_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(CheckpointError, match=r"nothing can be written.*read-only file system.*Check"),
        locked(tmp_path),
    ):
        pass


def test_a_file_system_without_locks_is_warned_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_system_lock", refuse)
    with pytest.warns(UserWarning, match=r"no locks available.*let no other process"), locked(tmp_path):
        pass


def test_training_and_resuming_take_it_and_reading_does_not(tmp_path: Path) -> None:
    task, run = addition(), tmp_path / "run"
    data = examples(task, 48)
    make_learner(task).fit(data, out=run)
    with another_process(run):
        with pytest.raises(CheckpointError, match="is training in this run folder"):
            make_learner(task).fit(data, out=run, resume=True)
        with pytest.raises(CheckpointError, match="is training in this run folder"):
            make_learner(task).fit(data, out=str(run), resume=True)
        assert RunFolder.open(run).load_checkpoint()[1]["epoch"] == 3
        assert len(RunFolder.open(run).read_metrics()) == 3
    make_learner(task).fit(data, out=run, resume=True)


def test_a_new_run_does_not_write_into_a_folder_that_another_has_just_taken(tmp_path: Path) -> None:
    task = addition()
    with another_process(tmp_path), pytest.raises(CheckpointError, match="is training in this run folder"):
        make_learner(task).fit(examples(task, 48), out=tmp_path)
    assert not (tmp_path / "config.json").exists()
    make_learner(task).fit(examples(task, 48), out=tmp_path)  # what a killed process left is no run
