"""Metrics for Fabric's loggers, any that Lightning has.

``Learner(…, fabric=Fabric(loggers=[…]))`` logs to all of them; ``--logger tensorboard`` makes one. The step of an
epoch's numbers is the epoch through all stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from lightning_fabric.loggers.tensorboard import TensorBoardLogger

from ..errors import SoftgroundError
from ..figures import Figure
from ..files import Json, failure
from ..learner.observers import Observer, together
from ..preparing import hushed
from .progress import Display
from .words import flat, is_number


def scalars(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a record, by the names TensorBoard groups them under.

    >>> record = {"stage": "I", "epoch": 3, "loss": 0.5, "gamma": None, "test_a": 1.0, "seconds": {"total": 2.0}}
    >>> list(scalars(record))
    [('training/loss', 0.5), ('held-out/a', 1.0), ('seconds/total', 2.0)]
    """
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}/{part}", float(v)) for part, v in value.items() if is_number(v))
        elif name != "epoch" and is_number(value):
            figure = Figure.parse(name)
            group = {"": "training", "test": "held-out"}.get(figure.data, figure.data)
            yield f"{group}/{figure._replace(data='').flat}", float(value)


class Logged:
    """An observer of the training loop that gives every number of an epoch to loggers, and once the settings."""

    every_batch = False

    def __init__(self, loggers: Sequence[Any], settings: Mapping[str, Any] | None = None) -> None:
        self.loggers, self.settings = loggers, flat(settings or {})

    def __call__(self, event: str, facts: Json) -> None:
        """React to an event of the loop."""
        if facts.get("stages"):
            self.last = facts["stages"][-1].name
        if event == "begin":
            self.done = facts["epochs"]
            for logger in self.loggers if self.settings else ():
                logger.log_hyperparams(self.settings)
        elif event == "epoch":
            self.done += 1
            for logger in self.loggers:
                logger.log_metrics(dict(scalars(facts)), step=self.done)
        elif event == "stage" and facts["stage"] == self.last:
            for logger in self.loggers:
                logger.finalize("success")


@contextmanager
def shown(observer: Observer | None, quiet: bool, loggers: Sequence[object] = ()) -> Iterator[Observer | None]:
    """The observer, beside loggers and a display of progress on stderr, unless that is not wanted."""
    observer = together(observer, Logged(loggers)) if loggers else observer
    display = None if quiet else Display.on_stderr()
    with display or hushed(quiet):
        yield observer if display is None else together(observer, display)


def require(place: Any) -> None:
    """Say what to do where TensorBoard is not installed and a run is to write its log."""
    if place.logger and not find_spec("tensorboard"):
        raise SoftgroundError.of(
            {"logger": place.logger},
            ", and tensorboard cannot be imported: pip install tensorboard; or go without, since report.html shows the "
            "same curves.",
        )


def logs(place: Any, folder: Any, settings: Mapping[str, Any] | None) -> Any:
    """An observer that writes the log that a run is to write; on a machine without TensorBoard it goes on without."""
    if not place.logger or not find_spec("tensorboard"):
        return None
    where = folder.path / "tensorboard"
    if where.is_symlink():
        raise failure(where, "it is a link, which may lead out of the run folder", "Remove it")
    board = TensorBoardLogger(str(folder.path), name="", version=where.name, default_hp_metric=False, flush_secs=5)
    return Logged([board], settings)
