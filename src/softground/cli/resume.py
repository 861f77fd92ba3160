"""``softground resume RUN``: go on with an interrupted run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..experiments import Experiment
from ..experiments.deterministic import deterministic
from ..runs import RunFolder
from .options import Run


@dataclass(frozen=True)
class Command:
    """Go on with an interrupted run; the result is the same bits as if it had never stopped."""

    run_folder: Run
    """The run folder."""
    data_dir: Path | None = None
    """Where the data lie now (default: where they lay when the run began)."""
    previous: bool = False
    """Start from the checkpoint before the last, if the last is damaged."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print the summary as one JSON object, and nothing else."""

    def run(self) -> None:
        """Resume."""
        folder = RunFolder.open(self.run_folder)
        wanted = (folder.read_config().get("place") or {}).get("deterministic") is True
        with deterministic(wanted):
            experiment = Experiment.of_run(folder, self.data_dir)
            summary = experiment.run(
                folder.path, resume=True, previous=self.previous, quiet=self.quiet, silent=self.json
            )
        if self.json and summary:
            print(json.dumps(summary))
