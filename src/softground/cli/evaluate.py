"""``softground evaluate RUN``: a run's network on test data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ..experiments.place import Device
from ..report import result_table
from ..runs import RunFolder
from .loading import load_run, model_of, read_examples
from .options import Run


@dataclass(frozen=True)
class Command:
    """Evaluate a run's network on its test data, or on examples of your own."""

    run_folder: Run
    """The run folder."""
    data_dir: Path | None = None
    """Where the run's data lie now (default: where they lay when it began)."""
    examples: Path | None = None
    """A file of examples to evaluate on instead: x, y and, if known, symbols as arrays of an .npz."""
    previous: bool = False
    """Use the checkpoint before the last."""
    device: Device = "auto"
    """Where to compute."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> None:
        """Evaluate."""
        folder = RunFolder.open(self.run_folder)
        figures: dict[str, Any]
        if self.examples is not None:
            model = model_of(folder, self.previous, self.device)
            figures = model.evaluate(read_examples(self.examples))
        else:
            experiment, learner = load_run(folder, self.previous, self.data_dir, self.device)
            figures = learner.evaluate(experiment.held_out)
            if not learner.fabric.is_global_zero:
                return
        if self.json:
            print(json.dumps(figures))
        else:
            Console().print(result_table(f"{folder.read_config().get('task')}: {folder.path}", {"now": figures}))
