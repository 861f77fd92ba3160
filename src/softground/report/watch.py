"""A few training examples followed through a run: after each epoch, what their chains and the network say.

``gallery.jsonl`` in the run folder, one JSON object per line::

    {"epochs": 3, "stage": "I", "examples": [0, 1], "grounded": [["7", "+", "1"], …], "predicted": [["1", "+", "1"], …]}

``epochs`` counts those done, through all stages; 0 is the untrained network, which has no chains yet. Its line also has
``inputs``, for people who watch the run. ``grounded`` is null in stages without chains. The file is for
people: a run killed just after a checkpoint may lack one line, and nothing is ever restored from it.
"""

import json
from contextlib import suppress
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..data.examples import Examples
from ..dice import untouched
from ..errors import NonFiniteOutput
from ..files import Json, Unreadable, append_line, parse_object, read_lines, replace_file
from ..learner import Learner
from ..learner.datasets import Batches, Data, data_with_tasks
from ..learner.evaluation import groundings
from ..runs import RunFolder
from ..training.first_states import WAITING
from ..training.step import CHAINS
from .findings import Symbols, look_at

GALLERY = "gallery.jsonl"
WATCHED, WATCHED_IMAGES = 6, 100  # examples, and images: fewer examples where each has many sites
DECIMALS = 3  # of reals


class Watch:
    """An observer of the training loop that keeps one line per epoch for the first examples that this process owns.

    It draws no random numbers that the run would have drawn, so a run is the same with it and without.
    """

    every_batch = False

    def __init__(self, learner: Learner, train: Data, folder: RunFolder, count: int = WATCHED) -> None:
        self.learner, self.train, self.count = learner, train, count
        self.path = folder.path / GALLERY

    def __call__(self, event: str, facts: Json) -> None:
        """React to an event of the loop."""
        if event == "begin":
            self.done = facts["epochs"]
            self._look()
            # What comes after the checkpoint goes, and lines that a crash left unfinished.
            kept = [record for record in read_gallery(self.path) if record["epochs"] <= self.done]
            replace_file(self.path, b"".join(_line(record) for record in kept))
            if self.done == 0 and not kept:
                self._append(None)
        elif event == "epoch":
            self.done += 1
            self._append(facts["stage"])

    def _look(self) -> None:
        """Choose the first examples of each shape in turn, of those that this process owns."""
        of = data_with_tasks(self.learner.task, self.train)
        rank, world = self.learner.fabric.global_rank, self.learner.fabric.world_size
        turns = [[(n, row) for row in range(rank, len(part[2]), world)[: self.count]] for n, part in enumerate(of)]
        some = [one for turn in zip_longest(*turns) for one in turn if one is not None][: self.count]
        self.parts = []
        for number, (shape, task, part, at) in enumerate(of):
            if rows := [row for n, row in some if n == number]:
                with untouched():
                    x = [part[row][0] for row in rows]
                places = rows if at is None else at[rows].tolist()
                self.parts.append((shape, task.space, [row // world for row in rows], places, x))

    def _append(self, stage: str | None) -> None:
        found = []
        for shape, space, rows, places, x in self.parts:
            try:
                with untouched():
                    predicted = torch.stack(list(self.learner.predict_codes(x if shape is None else {shape: x})))
            except NonFiniteOutput:  # the loop will say where
                return
            chains, waiting = self._chains(shape, stage, rows)
            if chains is not None and waiting is not None:  # those without a grounding show the network's reading
                chains = torch.where((waiting > 0)[:, None], predicted.to(chains.device), chains)
            grounded = [None] * len(rows) if chains is None else texts(space, chains)
            found += list(zip(places, grounded, texts(space, predicted), strict=True))
        examples, grounded, read = (list(column) for column in zip(*found, strict=True))
        record = {
            "epochs": self.done,
            "stage": stage,
            "examples": examples,
            "grounded": None if None in grounded else grounded,
            "predicted": read,
        }
        if stage is None:
            seen = [asdict(look_at(one, space.sites)) for _, space, _, _, x in self.parts for one in x]
            record["inputs"] = seen[: shown_of(max(space.sites for _, space, *_ in self.parts))]
        append_line(self.path, _line(record))

    def _chains(self, shape: object, stage: str | None, rows: list[int]) -> tuple[Tensor | None, Tensor | None]:
        """Chains in this stage, or else draws from Q*, and which examples wait for a first state."""
        stages = self.learner.staged[shape]
        number = next((number for number, each in enumerate(stages) if each.name == stage), None)
        if number is None:
            return None, None
        part = next(part for part in self.learner.loop.parts if part.shape == shape)
        memory, index = part.memory[number], torch.tensor(rows, device=part.data.device)
        if CHAINS in memory or not isinstance(part.data.inputs, Tensor):
            return tuple(memory[name][index] if name in memory else None for name in (CHAINS, WAITING))  # type: ignore[return-value]
        with untouched():
            some = Batches(Examples(part.data.inputs[index], [0] * len(rows)), part.data.device)
            some.known = None if part.data.known is None else part.data.known[index]
            return groundings(part.task, [stages[number]], self.learner.network, some, part.y[index]), None


def shown_of(sites: int) -> int:
    """How many examples with this many ``sites`` are shown with their images."""
    return max(2, min(WATCHED, WATCHED_IMAGES // sites))


def texts(space: Any, z: Tensor) -> list[Symbols]:
    """States as JSON: symbols as text, reals as rounded numbers."""
    if z.is_floating_point():
        return [[round(v, DECIMALS) for v in row] for row in z.tolist()]
    return [[str(symbol) for symbol in row] for row in space.decode(z)]


def read_gallery(path: Path) -> list[Json]:
    """Every complete line, in order; one that is damaged is left out, as is a file that is missing."""
    found = []
    for line in read_lines(path):
        with suppress(Unreadable):
            found.append(parse_object(line))
    return [r for r in found if type(r.get("epochs")) is int and isinstance(r.get("predicted"), list)]


def _line(record: Json) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"
