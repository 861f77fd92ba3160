"""``softground predict RUN IMAGE…``: what a run's network reads in image files. No data set is needed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from rich.console import Console
from torch import Tensor

from ..data.symbol_images import read_symbols
from ..errors import ConstraintError, DataError
from ..experiments.place import Device
from ..runs import RunFolder
from ..task import Task
from .loading import model_of, task_of
from .options import Run


@dataclass(frozen=True)
class Command:
    """Read symbols in image files with a run's network, and give their value."""

    run_folder: Run
    """The run folder."""
    images: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Image files, one for each symbol, in order; several examples may follow each other."""
    strip: bool = False
    """Each file shows all symbols of an example side by side, in equal widths."""
    constrained: bool = False
    """The most probable symbols that have a value at all, such as a valid board."""
    previous: bool = False
    """Use the checkpoint before the last."""
    device: Device = "auto"
    """Where to compute."""
    json: bool = False
    """Print one JSON object instead of lines."""

    def run(self) -> None:
        """Read and print."""
        folder = RunFolder.open(self.run_folder)
        model = model_of(folder, self.previous, self.device)
        if model.shape is None or len(model.shape) != 4:
            raise DataError(
                f"The network of this run, a {type(model.network).__name__} of task {model.name}, does not read one "
                "image per symbol. Use softground.load and its predict with inputs of its own kind."
            )
        sites, *image = model.shape
        x = read_symbols(self.images, sites, (image[0], image[1], image[2]), self.strip)
        codes = model.predict_codes(x, constrained=self.constrained).cpu()
        sure = torch.from_numpy(model.predict_proba(x)).gather(2, codes[..., None]).squeeze(2).tolist()
        values = _values(model.task, codes) or _values(task_of(folder), codes) or [None] * len(codes)
        each = 1 if self.strip else sites
        predictions = [
            {
                "images": [str(p) for p in self.images[i * each : (i + 1) * each]],
                "symbols": list(symbols),
                "value": _whole(value),
                "probabilities": [round(p, 4) for p in chances],
            }
            for i, (symbols, value, chances) in enumerate(zip(model.space.decode(codes), values, sure, strict=True))
        ]
        self._print(predictions)

    def _print(self, predictions: list[dict[str, Any]]) -> None:
        if self.json:
            print(json.dumps({"predictions": predictions}, default=str))
            return
        console = Console(highlight=False, soft_wrap=True)
        for p in predictions:
            together = torch.tensor(p["probabilities"]).prod().item()
            value = "no value" if p["value"] is None else f"value {p['value']}"
            line = f"{' '.join(map(str, p['symbols']))}   {value}   probability {together:.1%}"
            console.print(line, markup=False)


def _values(task: Task | None, codes: Tensor) -> list[Any] | None:
    """What symbols give; None where there is no rule, or one that only checks answers."""
    try:
        return None if task is None else task.constraint.compute(codes)
    except ConstraintError:
        return None


def _whole(value: Any) -> Any:
    """A fraction that is a whole number as such."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value
