"""The command line on the small task, in processes forked from one that has used it already."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import torch

from softground.tasks import TASKS

from ._small import Small

TRAIN = ["train", Small.name, "--epochs", "1", "--device", "cpu", "--quiet"]


@contextmanager
def small_task() -> Iterator[None]:
    """The small task, on the command line."""
    known = Small.name in TASKS
    TASKS[Small.name] = Small
    try:
        yield
    finally:
        if not known:
            del TASKS[Small.name]


def warm_up(use: Callable[[Path], None], pristine: Path, copy: Path) -> None:
    """Use a copy of a run in this process: what libraries import, start and write at first, they do only once."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a child has none of its parent's threads
    platform.platform()
    shutil.copytree(pristine, copy)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            use(copy)
    finally:
        shutil.rmtree(copy)
        torch.set_num_threads(threads)


__all__ = ["TRAIN", "small_task", "warm_up"]
