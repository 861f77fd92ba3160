"""Every moment of saving, numbered, and death at one of them: half a write, before and after each rename.

A signal from outside hits the few milliseconds of a save by luck. Here the process counts its own writes, forced
writes, renames and removals, and kills itself as by ``kill -9`` at the one it was told.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from softground.cli import main
from softground.tasks import TASKS

from ._small import Small

TASKS[Small.name] = Small


def command(arguments: list[str], at: int | None = None, part: float = 0.5, moments: str | None = None) -> int:
    """A softground command whose process dies at moment ``at``; ``moments`` is a file for their names."""
    saving = _Saving(at, part)
    saving.watch()
    code = main(arguments)
    if moments is not None:
        Path(moments).write_text(json.dumps(saving.moments))
    return code


class _Saving:
    """Counts moments; of the write it dies in, the share ``part`` still reaches the file."""

    def __init__(self, at: int | None, part: float) -> None:
        self.at = at
        self.part = part
        self.moments: list[str] = []

    def watch(self) -> None:
        """Stand between this process and its files, for the rest of its life."""
        for name in ("fsync", "replace", "unlink"):
            setattr(os, name, self._around(name, getattr(os, name)))
        builtins.open = self._open(builtins.open)

    def moment(self, name: str) -> bool:
        """Whether this one is the last."""
        self.moments.append(name)
        return len(self.moments) - 1 == self.at

    def _around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if self.moment(f"before {name}"):
                die()
            result = function(*arguments, **more)
            if self.moment(f"after {name}"):
                die()
            return result

        return call

    def _open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *arguments: Any, **more: Any) -> Any:
            if mode not in ("wb", "xb", "ab", "ab+") or not str(file).endswith((".tmp", ".jsonl")):
                return real(file, mode, *arguments, **more)
            stream = (_Appended if "+" in mode else _Written)(real(file, mode, 0, **more))
            stream.saving = self
            return stream

        return call


class _Torn:
    """A stream of which a write may end half-way."""

    saving: _Saving

    def write(self, data: Any, /) -> int:
        if self.saving.moment("write"):
            super().write(data[: int(self.saving.part * len(data))])  # type: ignore[misc]
            self.flush()  # type: ignore[attr-defined]
            die()
        return super().write(data)  # type: ignore[misc, no-any-return]


class _Written(_Torn, io.BufferedWriter):
    pass


class _Appended(_Torn, io.BufferedRandom):
    pass


def die() -> None:
    """As by ``kill -9``: no handler runs, nothing is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)
