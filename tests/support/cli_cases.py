"""Command-line runs of a second or less."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from softground.cli import main
from softground.report.progress import Display
from softground.tasks.formulas.data import built_in

# Formulas of length 5 have 11,664 states; 8×8 images are scikit-learn's own size.
TINY = ["train", "hwf", "--length", "5", "--train-size", "48", "--test-size", "24", "--image-size", "8"]
TINY += ["--device", "cpu"]
ROOT = Path(__file__).parents[2]
PATHS = [ROOT / "src", *(ROOT / "tests" / room for room in (".", "support", "kernels"))]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PATHS)), "OMP_NUM_THREADS": "1"}
PRESETS: dict[str, list[str]] = {
    "best": ["--preset", "best", "--epochs", "3", "--batch-size", "16"],
    "paper": ["--preset", "paper", "--epochs", "3", "--zero-epochs", "2", "--batch-size", "16"],
}


def hurry() -> Iterator[None]:
    """What a fixture may do where the run itself is not the point: draw few operators, do not wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(built_in.OPERATOR_IMAGES, "train", 16)
        patch.setitem(built_in.OPERATOR_IMAGES, "test", 8)
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def train(out: Path, preset: str = "best", *more: str) -> int:
    """Train in this process; the exit code."""
    return main([*TINY, *PRESETS[preset], "--out", str(out), *more])


def read(path: Path) -> dict[str, Any]:
    """A JSON document."""
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def process(*arguments: str, module: str = "softground", cwd: Path | None = None) -> subprocess.Popen[str]:
    """``python -m softground …`` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=ENVIRONMENT,
    )


def interruptible() -> Iterator[None]:
    """A process that a shell started in the background ignores Ctrl-C, and so do its children; these must not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_at(event: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when the display hears of the given event."""
    heard: list[str] = []

    class Nervous(Display):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            self.every_batch = True

        def __call__(self, name: str, facts: dict[str, Any]) -> None:
            super().__call__(name, facts)
            heard.append(name)
            if len(heard) == event + 1:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)  # the signal is heard at once; this is never slept through

    monkeypatch.setattr("softground.report.progress.Display", Nervous)
