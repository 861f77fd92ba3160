"""``softground predict``: what a run's network reads in image files."""

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

from ..errors import ConstraintError, DataError
from ..networks import PerSite
from ..runs import RunFolder
from ..tasks import AdditionOptions, Experiment, Options
from ..tasks.experiment import Device
from .commands import Run, load_run
from .pictures import read_symbols


@dataclass(frozen=True)
class Predict:
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
        """Predict."""
        options, experiment, learner = load_run(RunFolder.open(self.run_folder), self.previous, self.device)
        network, space = experiment.network, experiment.task.space
        if not isinstance(network, PerSite):
            raise DataError(
                f"The network of this run, a {type(network).__name__} of task {options.name}, does not read images. "
                "Use Learner.predict with inputs of its own kind."
            )
        image = network.image
        x = read_symbols(self.images, space.sites, (image[0], image[1], image[2]), self.strip)
        experiment.task.constraint.encode(list(getattr(experiment.test, "y", ())))  # answers, in their form
        codes = learner.predict_codes(x, constrained=self.constrained)
        proba = torch.as_tensor(learner.predict_proba(x))
        sure = proba.gather(2, codes.cpu()[..., None]).squeeze(2).tolist()
        found = zip(space.decode(codes), values(options, experiment, codes.cpu()), sure, strict=True)
        each = 1 if self.strip else space.sites
        self._print(
            [
                {
                    "images": [str(p) for p in self.images[i * each : (i + 1) * each]],
                    "symbols": list(symbols),
                    "value": value,
                    "probabilities": [round(p, 4) for p in chances],
                }
                for i, (symbols, value, chances) in enumerate(found)
            ]
        )

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


def values(options: Options, experiment: Experiment, codes: Tensor) -> list[Any]:
    """The value of each row of symbols, as the run's answers are written; None where it has none, or none is known."""
    if isinstance(options, AdditionOptions):  # as a scan, its rule only checks sums
        rows = ["".join(map(str, row)) for row in codes.tolist()]
        return [int(row[: options.digits]) + int(row[options.digits :]) for row in rows]
    try:
        return [_whole(value) for value in experiment.task.constraint.compute(codes)]
    except ConstraintError:
        return [None] * len(codes)


def _whole(value: Any) -> Any:
    """A fraction that is a whole number as such."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


__all__ = ["Predict"]
