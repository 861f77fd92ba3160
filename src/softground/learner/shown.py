"""Progress on the terminal while a learner trains."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from ..preparing import hushed
from .events import Observer


@contextmanager
def shown(observer: Observer | None, quiet: bool) -> Iterator[Observer | None]:
    """The observer, beside a display of progress unless that is not wanted, or there is nowhere to show it."""
    from ..report import Display, together

    display = None if quiet else Display.on_terminal()
    if display is None:
        with hushed() if quiet else nullcontext():
            yield observer
    else:
        with display:
            yield together(observer, display)
