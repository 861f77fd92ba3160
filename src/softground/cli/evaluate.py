"""``softground evaluate RUN``: a run's network on test data."""

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ..errors import DataError
from ..experiments.place import Device, deterministic
from ..figures import flat_names
from ..files import Json
from ..report.progress import result_table
from .loading import OfRun, load_run, model_of, read_examples


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Evaluate a run's network on its test data, or on examples of your own."""

    data_dir: Path | None = None
    """Current folder of the run's data (default: their folder when the run began)."""
    examples: Path | None = None
    """Evaluate on these examples instead: an .npz with arrays x, y and, if known, symbols."""
    device: Device = "auto"
    """Device to compute on."""

    def run(self) -> None:
        folder = self.folder
        figures: Json
        further: list[str] = []
        if self.examples is not None:
            examples = read_examples(self.examples)  # first, to refuse a bad file before reading the model
            figures = model_of(folder, self.previous, self.device).evaluate(examples)
        elif folder.read_config().get("recipe") is None:
            raise DataError(
                f"{folder.path} holds a run of another program, whose test data are not known here. Give "
                "--examples FILE.npz."
            )
        else:
            experiment, learner = load_run(folder, self.previous, self.data_dir, self.device)
            with deterministic(experiment.place.deterministic):
                figures = learner.evaluate(experiment.held_out)
                for name, data in experiment.more.items():
                    figures |= flat_names(learner.evaluate(data), data=name)
                further = list(experiment.more)
            if not learner.fabric.is_global_zero:
                return
        if self.json:
            print(json.dumps(figures))
        else:
            Console().print(result_table(f"{folder.read_config()['task']}: {folder.path}", {"now": figures}, further))
