"""``softground export RUN``: a run's network as an ONNX file."""

import json
from dataclasses import dataclass
from pathlib import Path

from ..onnx import export_onnx
from .loading import OfRun, model_of


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Write a run's network as ONNX, and check that ONNX Runtime gives the same scores (needs the extra onnx)."""

    out: Path | None = None
    """The file to write (default: model.onnx in the run folder)."""

    def run(self) -> None:
        model = model_of(self.folder, self.previous, "cpu")
        path = self.out or self.folder.path / "model.onnx"
        difference = export_onnx(model, path)
        if self.json:
            facts = {"file": str(path), "input": ["batch", *(model.shape or ())]}
            print(json.dumps(facts | {"dtype": str(model.dtype).split(".")[-1], "largest_difference": difference}))
        else:
            print(f"ONNX: {path} (scores differ from torch's by at most {difference:.1e})")
