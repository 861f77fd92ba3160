"""``softground export RUN``: a run's network as an ONNX file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..onnx import export_onnx
from .loading import OfRun, model_of


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Write a run's network as ONNX, and check that ONNX Runtime gives the same scores (needs the extra onnx)."""

    out: Path | None = None
    """The file to write (default: model.onnx in the run folder). For several shapes, one file each: model-3.onnx."""

    def run(self) -> None:
        model = model_of(self.folder, self.previous, "cpu")
        path = self.out or self.folder.path / "model.onnx"
        if not isinstance(model.space, Mapping):
            written = [(path, model, export_onnx(model, path))]
        else:
            each = [(path.with_stem(f"{path.stem}-{shape}"), model.of(shape)) for shape in model.space]
            written = [(file, one, export_onnx(one, file)) for file, one in each]
        found = [
            {"file": str(file), "input": ["batch", *(one.shape or ())]}
            | {"dtype": str(one.dtype).split(".")[-1], "largest_difference": difference}
            for file, one, difference in written
        ]
        if self.json:
            print(json.dumps({"files": found} if isinstance(model.space, Mapping) else found[0]))
            return
        for file, _, difference in written:
            print(f"ONNX: {file} (scores differ from torch's by at most {difference:.1e})")
