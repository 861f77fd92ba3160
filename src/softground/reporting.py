"""What a learner asks of the part that shows runs to people.

The core knows no report and no terminal. It asks a :class:`Reporter`, which does nothing by itself. The package's top
level registers the one of :mod:`softground.report`, so that ``Learner.fit(out=…)`` leaves a report behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any


class Reporter:
    """Shows a run while it goes on, and reports on it when it has ended. This one stays silent."""

    def watch(self, learner: Any, train: Any, path: Path) -> Callable[[str, dict[str, Any]], object] | None:
        """An observer that follows some training examples in the run folder ``path``."""
        return None

    def shown(self, observer: Any, quiet: bool, loggers: Sequence[Any]) -> AbstractContextManager[Any]:
        """The observer of a run, beside what shows progress and logs metrics while the context lasts."""
        return nullcontext(observer)

    def facts(self, task: Any, z: Any, y: Any) -> dict[str, Any]:
        """Further entries of the summary, of the states ``z`` that a network reads for encoded answers ``y``."""
        return {}

    def report(self, learner: Any, train: Any, test: Any, path: Path, predictions: Any) -> None:
        """Write the report of a run that has ended."""


_make: list[Callable[[], Reporter]] = [Reporter]


def register(make: Callable[[], Reporter]) -> None:
    """Take the reporter that ``make`` gives; it is called when a learner is fitted."""
    _make[0] = make


def reporter() -> Reporter:
    """The reporter that is registered."""
    return _make[0]()
