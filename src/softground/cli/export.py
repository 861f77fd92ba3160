"""``softground export RUN``: a run's network as an ONNX file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ..onnx import export_onnx
from ..runs import RunFolder
from .loading import model_of
from .options import Run


@dataclass(frozen=True)
class Command:
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
        model = model_of(folder, self.previous, "cpu")
        path = self.out or folder.path / "model.onnx"
        difference = export_onnx(model, path)
        if self.json:
            facts = {"file": str(path), "input": ["batch", *(model.shape or ())]}
            print(json.dumps(facts | {"dtype": str(model.dtype).split(".")[-1], "largest_difference": difference}))
            return
        line = f"ONNX: {path} (scores differ from torch's by at most {difference:.1e})"
        Console(highlight=False, soft_wrap=True).print(line, markup=False)
