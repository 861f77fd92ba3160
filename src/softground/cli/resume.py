"""``softground resume RUN``: go on with an interrupted run."""

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from ..experiments import Experiment
from ..preparing import hushed
from .loading import OfRun


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Go on with an interrupted run. The result is the same, bit by bit, as if it had never stopped."""

    data_dir: Path | None = None
    """Where the data lie now (default: where they lay when the run began)."""
    quiet: bool = False
    """No progress display."""

    def run(self) -> None:
        folder = self.folder
        with hushed() if self.quiet else nullcontext():
            experiment = Experiment.of_run(folder, self.data_dir)
            summary = experiment.run(
                folder.path, resume=True, previous=self.previous, quiet=self.quiet, silent=self.json
            )
        if self.json and summary:
            print(json.dumps(summary))
