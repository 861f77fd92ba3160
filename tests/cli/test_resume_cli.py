"""Interrupted from outside, by Ctrl-C or by force, a run of either preset resumes to the same bits."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli_cases import ENVIRONMENT, PRESETS, TINY, hurry, interrupted_at, interruptible, read, train
from learner_cases import assert_same_run
from softground.cli import main
from softground.learner import run_folder
from softground.runs import RunFolder

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
stoppable = pytest.fixture(autouse=True, scope="module")(interruptible)
# An epoch is three batches and its end: event 0 is 'begin', 4, 8 and 12 end epochs, 13 ends Stage I.
PLACES = {"best": [1, 2, 4, 7, 12], "paper": [3, 8, 12, 14, 19]}


@pytest.fixture(scope="module", params=list(PRESETS))
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A run of each preset that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole") / request.param
    assert train(folder, request.param, "--quiet") == 0
    return request.param, folder


@pytest.mark.parametrize("place", range(5))
def test_ctrl_c_says_how_to_go_on_and_that_is_true(
    place: int,
    whole: tuple[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    preset, reference = whole
    folder = tmp_path / "my run"
    with monkeypatch.context() as patch:
        interrupted_at(PLACES[preset][place], patch)
        assert train(folder, preset) == 130
    errors = capsys.readouterr().err
    assert errors.strip() == f"Interrupted. Go on with: softground resume '{folder}'"
    assert not (folder / "summary.json").exists()
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert_same_run(folder, reference)
    mine, theirs = read(folder / "summary.json"), read(reference / "summary.json")
    for name in set(theirs) - {"seconds", "wall_seconds"}:
        assert mine[name] == theirs[name]


def test_ctrl_c_before_there_is_a_run_has_nothing_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "create", pressed)
    assert train(tmp_path / "run") == 130
    assert capsys.readouterr().err.strip() == "Interrupted."


def test_a_run_that_stopped_before_it_measured_anything_still_gets_its_before(
    whole: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset, reference = whole

    def pressed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "read_part", pressed)
        assert train(tmp_path / "run", preset, "--quiet") == 130
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert read(tmp_path / "run" / "summary.json")["before"] == read(reference / "summary.json")["before"]
    assert_same_run(tmp_path / "run", reference)


def test_a_folder_that_moved_resumes_where_it_is_now(
    whole: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset, reference = whole
    with monkeypatch.context() as patch:
        interrupted_at(6, patch)
        assert train(tmp_path / "here", preset) == 130
    shutil.move(tmp_path / "here", tmp_path / "there")
    assert main(["resume", str(tmp_path / "there"), "--quiet"]) == 0
    assert_same_run(tmp_path / "there", reference)
    assert not (tmp_path / "here").exists()


# The command line in a process of its own that hurries as this one does.
HURRIED = (
    "import sys; from cli_cases import hurry, main; hurried = hurry(); next(hurried); sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:After 8 epochs of stage I")  # of 48 examples; nothing is to be learnt here
def test_a_process_that_was_killed_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """SIGKILL at whatever point it hits: no handler runs, nothing is flushed."""
    arguments = [*TINY, "--preset", "paper", "--epochs", "25", "--zero-epochs", "2", "--quiet"]
    command = [sys.executable, "-c", HURRIED, *arguments, "--out", str(tmp_path / "run")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as victim:
        try:
            deadline = time.monotonic() + 120
            metrics = tmp_path / "run" / "metrics.jsonl"
            while not (metrics.exists() and metrics.read_bytes().count(b"\n") >= 3):
                assert victim.poll() is None, victim.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.002)
        finally:
            victim.kill()
    assert victim.returncode == -signal.SIGKILL
    assert len(RunFolder.open(tmp_path / "run").read_metrics()) < 27
    assert main(["resume", str(tmp_path / "run")]) == 0
    assert main([*arguments, "--out", str(tmp_path / "unbroken")]) == 0
    assert_same_run(tmp_path / "run", tmp_path / "unbroken")
