"""``softground resume RUN``: go on with an interrupted run, or with a finished one for more epochs."""

import json
from dataclasses import dataclass
from pathlib import Path

from ..experiments import Experiment
from ..experiments.extending import extended
from ..preparing import hushed
from .loading import OfRun


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Go on with an interrupted run. The result is the same, bit by bit, as if it had never stopped."""

    data_dir: Path | None = None
    """Where the data lie now (default: where they lay when the run began)."""
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
