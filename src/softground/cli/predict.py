"""``softground predict RUN IMAGE…``: read image files with a run's network, without its data."""

import csv
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from ..data.images import read_symbols
from ..errors import DataError
from ..experiments.place import Device
from ..files import Json, cell, harmless
from ..model import Model
from ..task import Task
from .loading import OfRun, model_of, task_of


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Read symbols in image files with a run's network, and compute their answer."""

    images: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Image files, one per symbol, in order; several examples may follow each other."""
    strip: bool = False
    """Each file shows all symbols of an example side by side, in equal widths."""
    constrained: bool = False
    """Predict the most probable symbols that have an answer, such as a valid board."""
    csv: bool = False
    """Print a table as CSV, one row for each symbol, with its file."""
    device: Device = "auto"
    """Device to compute on."""

    def run(self) -> None:
        if self.json and self.csv:
            raise DataError("--json and --csv were given; choose one of them.")
        model = model_of(self.folder, self.previous, self.device)
        if isinstance(model.space, Mapping):
            model = self._one_shape(model)
        if model.shape is None or len(model.shape) != 4:
            raise DataError(
                f"The network of this run, a {type(model.network).__name__} of task {model.name}, does not read one "
                "image per symbol. Use softground.load and its predict with inputs of its own kind."
            )
        sites, *image = model.shape
        x = read_symbols(self.images, sites, (image[0], image[1], image[2]), self.strip, model.dtype)
        codes = model.predict_codes(x, constrained=self.constrained).cpu()
        sure = torch.from_numpy(model.predict_proba(x)).gather(2, codes[..., None]).squeeze(2).tolist()
        values = model.task.computed(codes) if isinstance(model.task, Task) else None
        if values is None and isinstance(task := task_of(self.folder), Task):  # a saved scan may only check
            values = task.computed(codes)
        each = 1 if self.strip else sites
        found = [
            {
                "images": [str(path) for path in self.images[i * each : (i + 1) * each]],
                "symbols": list(symbols),
                "value": _whole(value),
                "probabilities": [round(p, 4) for p in chances],
            }
            for i, (symbols, value, chances) in enumerate(
                zip(model.space.decode(codes), values or [None] * len(codes), sure, strict=True)
            )
        ]
        if self.json:
            print(json.dumps({"predictions": found}, default=str))
            return
        if self.csv:
            return _table(found)
        for p in found:
            value = "no value" if p["value"] is None else f"value {p['value']}"
            symbols = " ".join(map(str, p["symbols"]))
            print(harmless(f"{symbols}   {value}   probability {prod(p['probabilities']):.1%}"))

    def _one_shape(self, model: Model) -> Model:
        """The model for as many symbols as there are images, if the network reads several numbers of them."""
        sites = {space.sites: shape for shape, space in model.space.items()}
        if self.strip or len(self.images) not in sites:
            raise DataError(
                f"{len(self.images)} images were given{' as strips' if self.strip else ''}; this run reads examples of "
                f"{', '.join(map(str, sites))} symbols. Give the images of one example, one file for each symbol."
            )
        return model.of(sites[len(self.images)])


def _table(found: list[Json]) -> None:
    """Predictions as CSV, one row for each symbol. A strip is the file of all its symbols."""
    table = csv.writer(sys.stdout)
    table.writerow(["example", "file", "site", "symbol", "probability", "value"])
    for example, each in enumerate(found):
        count = len(each["symbols"])
        files = each["images"] * (count if len(each["images"]) == 1 else 1)
        for site, row in enumerate(zip(files, each["symbols"], each["probabilities"], strict=True)):
            table.writerow(map(cell, (example, row[0], site, *row[1:], each["value"])))


def _whole(value: object) -> Any:
    """A fraction with denominator 1 as a whole number."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value
