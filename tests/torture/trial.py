"""A trial: one way to hurt a run, tried often; and the count of what survived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEPT = 20  # failures described in the JSON; all are counted


class Unavailable(Exception):
    """What a trial needs (a GPU, a cluster) is not here; the reason is its message. It is reported as not run."""


@dataclass
class Tally:
    """Counts cases. ``notes`` are figures beside the count, such as delays or memory; they go into the JSON."""

    tried: int = 0
    survived: int = 0
    failures: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    report: Callable[[Tally], None] = lambda tally: None

    @contextmanager
    def case(self, name: str) -> Iterator[None]:
        """One case: it survives unless the block raises. Interrupts pass through."""
        self.tried += 1
        try:
            yield
            self.survived += 1
        except Exception as error:
            if len(self.failures) < KEPT:
                self.failures.append(f"{name}: {type(error).__name__}: {error}"[:500])
        self.report(self)


@dataclass(frozen=True)
class Trial:
    """What is done, what must hold, and how often it is tried.

    Parameters
    ----------
    key
        Its name on the command line.
    row
        Its place in the table.
    what, must_hold
        The table's text.
    full, short
        Cases in ``make torture`` and in the tests.
    run
        ``run(tally, cases, seed, folder)``: try ``cases`` cases inside the empty ``folder``, counted by ``tally.case``.
        The seed decides all that chance decides. Raises :class:`Unavailable` where it cannot run here.
    """

    key: str
    row: int
    what: str
    must_hold: str
    full: int
    short: int
    run: Callable[[Tally, int, int, Path], None]


__all__ = ["Tally", "Trial", "Unavailable"]
