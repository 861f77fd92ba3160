"""Progress on the terminal while a learner trains."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from ..preparing import hushed
from .events import Observer


@contextmanager
def shown(observer: Observer | None, quiet: bool, loggers: Sequence[Any] = ()) -> Iterator[Observer | None]:
    """The observer, beside loggers and a display of progress, unless that is not wanted or there is nowhere for it."""
    from ..report import Display, together
    from ..report.loggers import Logged

    if loggers:
        observer = together(observer, Logged(loggers))
    display = None if quiet else Display.on_terminal()
    if display is None:
        with hushed() if quiet else nullcontext():
            yield observer
    else:
        with display:
            yield together(observer, display)
