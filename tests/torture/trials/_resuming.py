"""A small run of the command line, stopped in the middle, and ways to resume it on a disk or beside another process."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from softground.cli import main
from softground.runs import RunFolder

from ._commands import TRAIN
from ._full import mounted


def trained(whole: Path, stopped: Path) -> int:
    """Train a small run, and the same until it is stopped in the middle."""
    code = main([*TRAIN, "--out", str(whole)])
    options = [*TRAIN, "--out", str(stopped)]
    real, saves = RunFolder.save_checkpoint, []

    def until(self: RunFolder, *state: Any) -> None:
        if len(saves) == 2:
            raise KeyboardInterrupt
        saves.append(state)
        real(self, *state)

    RunFolder.save_checkpoint = until  # type: ignore[method-assign]
    interrupted = main(options)
    return code if interrupted == 130 else -1


def use(run: Path) -> None:
    """Resume a good run."""
    assert main(["resume", str(run), "--quiet"]) == 0, "a good run does not resume"


def filled(place: Path, stopped: Path, size: int) -> bool:
    """Resume a run on a file system of ``size`` bytes, which this process alone sees; says whether that was too small.

    What is left must load, as far as it had come.
    """
    assert mounted(place, size), "the small disk could not be mounted"
    run = place / "run"
    shutil.copytree(stopped, run)
    before = RunFolder.open(run).load_checkpoint()[1]["stage"]
    code = main(["resume", str(run), "--quiet"])
    assert code in (0, 2), f"exit code {code}"
    assert RunFolder.open(run).load_checkpoint()[1]["stage"] >= before, "the run has lost a stage"
    RunFolder.open(run).load_checkpoint(previous=True)
    return code == 2


def contested(run: Path, delay: float) -> list[int]:
    """Two processes resume the same run; their exit codes."""
    children = []
    for number in range(2):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                time.sleep(number * delay)
                code = main(["resume", str(run), "--quiet"])
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


__all__ = ["contested", "filled", "trained", "use"]
