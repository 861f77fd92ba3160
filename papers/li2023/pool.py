"""Run cells in processes of their own, several at a time; each record is written as soon as its cell ends.

A fresh process for each cell: nothing leaks from one run into the next, and one that dies takes nobody with it. Only
the parent writes records, so an interruption loses the cells that were running and nothing else.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import papers
import softground
from benchmarks.provenance import provenance
from softground.errors import DataError

from .cell import Cell, Where
from .store import Store

PAUSE = 0.05  # seconds between looks at the running processes
# Where a worker finds this package and softground, from whichever folder it is started.
SOURCES = tuple(str(Path(str(module.__file__)).resolve().parents[1]) for module in (papers, softground))
# Of the parent, once: a worker's own command says nothing, and the tree may change while cells run.
COMMAND = {name: value for name, value in provenance().items() if name != "environment"}
WORKER = (sys.executable, "-m", "papers.li2023.worker")


@dataclass
class Running:
    """A cell under way."""

    cell: Cell
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    errors: IO[bytes]
    began: float

    @classmethod
    def start(cls, cell: Cell, where: Where, threads: int | None, command: Sequence[str]) -> Running:
        """Start a worker on ``cell``."""
        output, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  # closed by end()
        path = os.pathsep.join([*SOURCES, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = os.environ | {"PYTHONPATH": path}
        if threads is not None:
            environment["OMP_NUM_THREADS"] = str(threads)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=errors, env=environment)
        assert process.stdin is not None
        with process.stdin as stream:
            stream.write(json.dumps({"cell": cell.as_json(), "where": asdict(where)}).encode())
        return cls(cell, process, output, errors, time.monotonic())

    def end(self) -> dict[str, Any]:
        """What the worker left: a record, or an error."""
        with self.output as output, self.errors as errors:
            output.seek(0)
            errors.seek(0)
            text, complaints = output.read(), errors.read().decode(errors="replace")
        try:
            answer = json.loads(text)
            assert isinstance(answer, dict)
            return answer
        except (ValueError, AssertionError):
            code = self.process.returncode
            return {"error": f"the process ended with code {code}\n{complaints[-2000:]}".rstrip(), "data": False}

    def stop(self) -> None:
        """End the process; what it did is lost."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()
        self.errors.close()


@dataclass
class Progress:
    """How far a reproduction is."""

    total: int
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)  # cells that no time was left for


Report = Callable[[Cell, dict[str, Any], Progress], None]


def run_all(
    cells: Sequence[Cell],
    store: Store,
    where: Where,
    *,
    jobs: int = 1,
    seconds: float | None = None,
    report: Report = lambda cell, answer, progress: None,
    worker: Sequence[str] = WORKER,
) -> Progress:
    """Run ``cells`` in their order, ``jobs`` at a time, none beyond ``seconds`` from now.

    A cell is started only if the time that another seed took still fits, or its estimate times how much longer than
    estimated others took; those that are running when the time is up are stopped. Raises :class:`DataError` where data
    are missing.
    """
    waiting, running = list(cells), list[Running]()
    known = {cell.family: taken for cell in cells if (taken := store.seconds(cell)) is not None}
    progress, clock = Progress(len(waiting)), _Clock(seconds, known)
    threads = None if jobs == 1 else max(1, (os.cpu_count() or 1) // jobs)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                fits = next((cell for cell in waiting if clock.fits(cell)), None)
                if fits is None:
                    break
                waiting.remove(fits)
                running.append(Running.start(fits, where, threads, worker))
            if not running:
                break
            time.sleep(PAUSE)
            for job in [job for job in running if job.process.poll() is not None]:
                running.remove(job)
                _finish(job, job.end(), store, clock, progress, report, jobs)
            if clock.over():
                progress.left += [job.cell.name for job in running]
                break
    finally:
        for job in running:
            job.stop()
    progress.left += [cell.name for cell in waiting]
    return progress


def _finish(
    job: Running, answer: dict[str, Any], store: Store, clock: _Clock, progress: Progress, report: Report, jobs: int
) -> None:
    seconds = time.monotonic() - job.began
    if "record" in answer:
        answer["record"] |= {"wall_seconds": round(seconds, 1), "jobs": jobs} | COMMAND
        store.write(job.cell, answer["record"])
        clock.note(job.cell, seconds)
        progress.done += 1
    elif answer.get("data"):
        raise DataError(answer["error"].removeprefix("DataError: "))
    else:
        progress.failed[job.cell.name] = answer["error"]
    report(job.cell, answer, progress)


class _Clock:
    """How much time is left, and whether a cell fits into it."""

    def __init__(self, seconds: float | None, measured: dict[str, float]) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds
        self.measured = measured
        self.ratios: list[float] = []  # seconds taken to seconds estimated: machines differ, and are shared

    def note(self, cell: Cell, seconds: float) -> None:
        self.measured[cell.family] = seconds
        self.ratios.append(seconds / cell.seconds)

    def fits(self, cell: Cell) -> bool:
        slower = max(1.0, statistics.fmean(self.ratios)) if self.ratios else 1.0
        needed = self.measured.get(cell.family, cell.seconds * slower)
        return self.end is None or time.monotonic() + needed <= self.end

    def over(self) -> bool:
        return self.end is not None and time.monotonic() > self.end


__all__ = ["Progress", "run_all"]
