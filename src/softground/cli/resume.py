"""``softground resume RUN``: continue an interrupted run, or extend a finished one."""

import json
from dataclasses import dataclass
from pathlib import Path

from ..experiments import Experiment
from ..experiments.extending import extended
from ..preparing import hushed
from .loading import OfRun


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Continue an interrupted run. The result is identical to that of an uninterrupted one."""

    data_dir: Path | None = None
    """Current folder of the data (default: their folder when the run began)."""
    epochs: int | None = None
    """Continue a finished run until Stage I has this many epochs; with a Stage II, see --zero-epochs."""
    zero_epochs: int | None = None
    """Continue a finished run until Stage II has this many epochs."""
    quiet: bool = False
    """No progress display."""

    def run(self) -> None:
        folder = self.folder
        with hushed(self.quiet):
            if self.epochs is None and self.zero_epochs is None:
                experiment = Experiment.of_run(folder, self.data_dir)
            else:
                experiment = extended(folder, self.data_dir, epochs=self.epochs, zero_epochs=self.zero_epochs)
            summary = experiment.run(
                folder.path, resume=True, previous=self.previous, quiet=self.quiet, silent=self.json
            )
        if self.json and summary:
            print(json.dumps(summary))
