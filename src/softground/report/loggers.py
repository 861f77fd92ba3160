"""Metrics for Fabric's loggers: Weights & Biases, MLflow, and any other that Lightning has.

``Learner(…, fabric=Fabric(loggers=[…]))`` logs to all of them; ``--logger wandb`` and ``--logger mlflow`` make
Lightning's. Every epoch's numbers have the names that TensorBoard has, and as step the epoch through all stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import SoftgroundError
from ..learner.events import Observer
from ..preparing import hushed
from . import tensorboard
from .html.config import flat
from .progress import Display, together
from .tensorboard import scalars

HOMES = ("lightning", "pytorch_lightning")  # either package has the loggers
PROJECT = "softground"


class Logged:
    """An observer of the training loop that gives every number of an epoch to loggers, and once the settings."""

    def __init__(self, loggers: Sequence[Any], settings: Mapping[str, Any] | None = None) -> None:
        self.loggers, self.settings = loggers, flat(settings or {})

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        """React to an event of the loop."""
        if event == "begin":
            self.done = facts["epochs"]
            self.last = facts["stages"][-1].name
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
def shown(observer: Observer | None, quiet: bool, loggers: Sequence[Any] = ()) -> Iterator[Observer | None]:
    """The observer, beside loggers and a display of progress, unless that is not wanted or there is nowhere for it."""
    observer = together(observer, Logged(loggers)) if loggers else observer
    display = None if quiet else Display.on_terminal()
    with display or hushed(quiet):
        yield observer if display is None else together(observer, display)


def available(name: str) -> bool:
    """Whether a logger's packages are installed."""
    return find_spec(name) is not None and any(find_spec(home) for home in HOMES)


def require(place: Any) -> None:
    """Say what to do where the packages of the logs that a run is to write are not installed."""
    if place.tensorboard:
        tensorboard.require()
    if place.logger and not available(place.logger):
        raise SoftgroundError(
            f"logger={place.logger} was given, which needs the packages {place.logger} and lightning: "
            f"pip install {place.logger} lightning; or go without, since report.html shows the same curves."
        )


def logs(place: Any, folder: Any, settings: Mapping[str, Any] | None) -> Any:
    """An observer that writes the logs that a run is to write; on a machine without the packages it goes on without."""
    board = tensorboard.TensorBoard(folder) if place.tensorboard and tensorboard.available() else None
    if not place.logger or not available(place.logger):
        return board
    return together(board, Logged([_made(place.logger, folder.path)], settings))


def _made(name: str, path: Path) -> Any:
    """Lightning's logger of this name; wandb's own environment variables say where it sends what it is given."""
    home = next(home for home in HOMES if find_spec(home))
    module = import_module("lightning.pytorch.loggers" if home == "lightning" else "pytorch_lightning.loggers")
    run = path.resolve().name
    try:
        if name == "wandb":
            return module.WandbLogger(project=PROJECT, name=run, save_dir=str(path))
        return module.MLFlowLogger(PROJECT, run_name=run, save_dir=str(path / "mlruns"))
    except ModuleNotFoundError as error:  # a part of a package only
        raise SoftgroundError(f"logger={name} was given, which cannot be used here: {error}") from error
