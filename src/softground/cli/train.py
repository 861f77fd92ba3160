"""``softground train TASK``: start a run."""

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from ..preparing import hushed
from .options import RunOptions


@dataclass(frozen=True, kw_only=True)
class Command(RunOptions):
    """How a run is shown."""

    out: Path | None = None
    """The run folder (default: a new one under runs/)."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print the summary as one JSON object, and nothing else."""

    def run(self) -> None:
        with hushed() if self.quiet else nullcontext():
            summary = self.experiment().run(self.out, quiet=self.quiet, silent=self.json)
        if self.json and summary:
            print(json.dumps(summary))
