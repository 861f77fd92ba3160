"""``softground export``: a run's network as an ONNX file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ..errors import DataError
from ..onnx import export_onnx
from ..runs import RunFolder
from .commands import Run, load_run

ROWS = 4  # inputs that the file is checked with


@dataclass(frozen=True)
class Export:
    """Write a run's network as ONNX, and check that ONNX Runtime gives the same scores (needs the extra onnx)."""

    run_folder: Run
    """The run folder."""
    out: Path | None = None
    """The file to write (default: model.onnx in the run folder)."""
    previous: bool = False
    """Use the checkpoint before the last."""
    json: bool = False
    """Print one JSON object instead of a line."""

    def run(self) -> None:
        """Export."""
        folder = RunFolder.open(self.run_folder)
        _, experiment, learner = load_run(folder, self.previous, "cpu")
        x = getattr(experiment.test, "x", None)
        if x is None or len(x) < ROWS:
            raise DataError(f"The run's test data give no inputs to export with; expected {ROWS} held in one tensor.")
        path = self.out or folder.path / "model.onnx"
        difference = export_onnx(learner.model, path, x[:ROWS])
        facts = {
            "file": str(path),
            "input": ["batch", *x.shape[1:]],
            "dtype": str(x.dtype).removeprefix("torch."),
            "largest_difference": difference,
        }
        if self.json:
            print(json.dumps(facts))
            return
        line = f"ONNX: {path} (scores differ from torch's by at most {difference:.1e})"
        Console(highlight=False, soft_wrap=True).print(line, markup=False)


__all__ = ["Export"]
