"""A few training examples followed through a run: after each epoch, what their chains and the network say.

``gallery.jsonl`` in the run folder, one JSON object per line::

    {"epochs": 3, "stage": "I", "examples": [0, 1], "grounded": [["7", "+", "1"], …], "predicted": [["1", "+", "1"], …]}

``epochs`` counts those done, through all stages; 0 is the untrained network, which has no chains yet. ``grounded`` is
null in stages without chains. The file is for people: a run killed just after a checkpoint may lack one line, and
nothing is ever restored from it.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..errors import NonFiniteOutput
from ..files import Unreadable, append_line, parse_object, read_lines, replace_file
from ..learner import Learner
from ..objectives.base import CHAINS
from ..objectives.starts import WAITING
from ..runs import RunFolder
from ..seeds import untouched
from .findings import Symbols

GALLERY = "gallery.jsonl"
WATCHED = 6
DECIMALS = 3  # of reals


class Watch:
    """An observer of the training loop that keeps one line per epoch for the first examples that this process owns.

    It draws no random numbers that the run would have drawn, so a run is the same with it and without.
    """

    def __init__(self, learner: Learner, train: Dataset[Any], folder: RunFolder, count: int = WATCHED) -> None:
        self.learner, self.train, self.count = learner, train, count
        self.path = folder.path / GALLERY

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        """React to an event of the loop."""
        if event == "begin":
            self.done = facts["epochs"]
            self.index = facts["own"][: self.count]
            with untouched():
                self.x = [self.train[i][0] for i in self.index.tolist()]
            # What comes after the checkpoint goes, and lines that a crash left unfinished.
            kept = [record for record in read_gallery(self.path) if record["epochs"] <= self.done]
            replace_file(self.path, b"".join(_line(record) for record in kept))
            if self.done == 0 and not kept:
                self._append(None)
        elif event == "epoch":
            self.done += 1
            self._append(facts["stage"])

    def _append(self, stage: str | None) -> None:
        space = self.learner.task.space
        try:
            with untouched():
                predicted = self.learner.predict_codes(self.x)
        except NonFiniteOutput:  # the loop will say where
            return
        objective = next((s.objective for s in self.learner.stages if s.name == stage), None)
        state = objective.state() if objective else {}
        chains, waiting = (_rows(state.get(name), self.index) for name in (CHAINS, WAITING))
        if chains is not None and waiting is not None:  # those without a grounding show the network's reading
            chains = torch.where((waiting > 0)[:, None], predicted.to(chains.device), chains)
        record = {
            "epochs": self.done,
            "stage": stage,
            "examples": self.index.tolist(),
            "grounded": None if chains is None else texts(space, chains),
            "predicted": texts(space, predicted),
        }
        append_line(self.path, _line(record))


def _rows(memory: Tensor | None, index: Tensor) -> Tensor | None:
    return None if memory is None else memory[index.to(memory.device)]


def texts(space: Any, z: Tensor) -> list[Symbols]:
    """States as JSON: symbols as text, reals as rounded numbers."""
    if z.is_floating_point():
        return [[round(v, DECIMALS) for v in row] for row in z.tolist()]
    return [[str(symbol) for symbol in row] for row in space.decode(z)]


def read_gallery(path: Path) -> list[dict[str, Any]]:
    """Every complete line, in order; one that is damaged is left out, as is a file that is missing."""
    found = []
    for line in read_lines(path):
        with suppress(Unreadable):
            found.append(parse_object(line))
    return [r for r in found if type(r.get("epochs")) is int and isinstance(r.get("predicted"), list)]


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"
