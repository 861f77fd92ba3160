"""Progress of long preparations, and reports of runs.

Tables, lists and first states are prepared before training. Code that prepares something part by part reports to
:func:`preparing`. If it takes longer than a second, the watcher shows it with an estimate of the time left. The default
watcher is :data:`line`, a line on the terminal; a run's display replaces it.

>>> with watched(print), preparing("First states", 2) as done:
...     done(1)  # quick, so nothing is shown

A caller that cannot wait limits the time by :func:`within`; a preparation asks for what is left by :func:`time_left`.

A learner uses the registered :class:`Reporter`; the default does nothing. The package's top level registers that of
:mod:`softground.report`, so ``Learner.fit(out=…)`` writes a report.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from decimal import Decimal
from pathlib import Path
from typing import Any

Watcher = Callable[[str], None]  # gets a sentence, and an empty one at the end of the preparation
PATIENCE, PAUSE = 1.0, 0.2  # seconds before the first sentence, and between two
SELDOM = 30.0  # the same without a terminal


class Line:
    """Show a sentence in place of the previous one on a terminal's stderr, in the first process only.

    In files and notebooks, write a line twice a minute.
    """

    since: float | None = None  # when the last line was written, or could have been

    def __call__(self, text: str) -> None:
        if sys.stderr is None or os.environ.get("RANK", "0") != "0":
            return
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            return
        now = time.monotonic()
        if text and self.since is not None and now - self.since >= SELDOM:
            print(text, file=sys.stderr, flush=True)
            self.since = now
        self.since = (now if self.since is None else self.since) if text else None


line = Line()

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=line)


_end: ContextVar[float] = ContextVar("end", default=math.inf)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End preparations in this block after ``seconds``, with the results so far."""
    before = _end.set(min(_end.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _end.reset(before)


def time_left() -> float:
    """Seconds that a preparation may still take; infinite without a limit."""
    return math.inf if (end := _end.get()) == math.inf else end - time.monotonic()


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Use another watcher in this block, or none."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


def hushed(quiet: bool = True) -> AbstractContextManager[None]:
    """Suppress the line on the terminal in this block if ``quiet``; keep another watcher."""
    return watched(None if (now := _watcher.get()) is line and quiet else now)


def told(text: str) -> None:
    """Show a sentence at once, such as an estimate before the work begins."""
    if (watcher := _watcher.get()) is not None:
        watcher(text)


@contextmanager
def preparing(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of finished parts, of ``total``."""
    watcher, began, shown = _watcher.get(), time.monotonic(), 0.0

    def done(count: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if watcher is not None and count < total and now - began >= PATIENCE and now - shown >= PAUSE:
            shown = now
            left = f", {duration((now - began) / count * (total - count))} left" if count else " so far"
            watcher(f"{what}: {count:,} of {total:,}{left}")

    try:
        yield done
    finally:
        if watcher is not None and shown:
            watcher("")


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> [duration(s) for s in (0.4, 59.6, 754, 7260)]
    ['1 s', '1 min', '13 min', '2 h 1 min']
    """
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def human(size: float) -> str:
    """Bytes with a unit.

    >>> human(1200), human(2**30), human(10**400)
    ('1.2 kB', '1.07 GB', '1.00e+388 TB')
    """
    units = ["TB", "GB", "MB", "kB", "B"]
    while size >= 1000 and len(units) > 1:
        size = size / 1000 if size < 1e300 else size // 1000
        units.pop()
    return f"{size if size < 1e300 else Decimal(size):.3g} {units[-1]}"


def many(count: int) -> str:
    """A count with separators or an exponent. A space may have more states than the largest float.

    >>> many(419904), many(10**8), many(10**400)
    ('419,904', '1.0e+08', '1.0e+400')
    """
    return f"{count:,}" if count < 10**7 else f"{count if count < 1e300 else Decimal(count):.1e}"


class Reporter:
    """Show a run in progress and report on it at the end. This one is silent."""

    def watch(self, learner: object, train: object, path: Path) -> Callable[..., object] | None:
        """An observer that follows some training examples in the run folder ``path``."""
        return None

    def shown(self, observer: object, quiet: bool, loggers: Sequence[object]) -> AbstractContextManager[Any]:
        """The observer of a run, with progress display and loggers while the context lasts."""
        return nullcontext(observer)

    def facts(self, task: object, z: object, y: object) -> dict[str, Any]:
        """Further entries of the summary, from a network's readings ``z`` for encoded answers ``y``."""
        return {}

    def report(self, learner: object, train: object, test: object, path: Path, predictions: object) -> None:
        """Write the report of a run that has ended."""


_make: list[Callable[[], Reporter]] = [Reporter]


def register(make: Callable[[], Reporter]) -> None:
    """Register a factory of reporters; a learner calls it when it is fitted."""
    _make[0] = make


def reporter() -> Reporter:
    """The reporter that is registered."""
    return _make[0]()
