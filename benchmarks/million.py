"""What grows with the number of examples and not with the batch, at a thousand to a million of them.

    python benchmarks/million.py [--quick] [--out FOLDER]

Formulas of length 7 with their values: seconds to encode the answers, to find every chain's first state, to save and to
load a checkpoint with all chains, and the bytes that each example takes in answers, chains and checkpoint. And how many
examples a second one process reads from a memory-mapped file, as a data set too large for the memory would be.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import destination, options, record, spread
from torch.utils.data import Dataset

from softground.learner.batches import Batches
from softground.runs import checkpoint
from softground.tasks.formulas import formula_task

SHAPE = (7, 1, 45, 45)  # HWF's images
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and what it gives."""
    began = time.perf_counter()
    value = function()
    return time.perf_counter() - began, value


def point(size: int, seed: int) -> dict[str, Any]:
    """All figures for one number of examples."""
    task = formula_task(7)
    generator = torch.Generator().manual_seed(seed)
    # Values of random states, as a data set would hold them: Python's own exact numbers.
    answers: list[Any] = []
    while len(answers) < size:
        states = task.space.states(torch.randint(task.space.size, (2 * size,), generator=generator))
        ids = task.constraint.answer_ids(states)
        answers += [task.constraint.answer(i) for i in ids[ids >= 0]]
    answers = answers[:size]
    encode, y = seconds(lambda: task.constraint.encode(answers))
    start, first = seconds(lambda: task.inverse.start(y, seed))
    assert bool(first.found.all())
    with tempfile.TemporaryDirectory() as folder:
        save, _ = seconds(lambda: checkpoint.save(Path(folder), {"chains": first.z}, {}))
        load, _ = seconds(lambda: checkpoint.load(Path(folder)))
        stored = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {
        "size": size,
        "seconds": {"encode": encode, "start": start, "save": save, "load": load},
        "bytes_per_example": {
            "answers": y.element_size(),
            "chains": first.z.element_size() * task.space.sites,
            "checkpoint": stored / size,
        },
    }


class Mapped(Dataset[Any]):
    """Formulas' images in one file on disk; the answers are known beforehand."""

    def __init__(self, path: Path, count: int) -> None:
        self.images = np.memmap(path, np.uint8, "w+", shape=(count, *SHAPE))
        self.images[:] = 1
        self.answers = [0] * count

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return self.images[index], self.answers[index]


def reading(count: int, seed: int) -> dict[str, Any]:
    """Examples a second through the learner's own reader, in random order, in batches of 128, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        batches = Batches(Mapped(Path(folder) / "images", count), torch.device("cpu"))
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
        rates = []
        for _ in range(5):
            took, _ = seconds(lambda: sum(len(index) for index, _ in batches.walk(list(torch.split(order, 128)))))
            rates.append(count / took)
    return {"examples_per_second": spread(rates), "bytes_per_example": math.prod(SHAPE)}


def main() -> int:
    given = options(__doc__).parse_args()
    points = []
    for size in (100, 1_000) if given.quick else SIZES:
        points.append(point(size, given.seed))
        print(points[-1], flush=True)
    read = reading(256 if given.quick else 8_192, given.seed)
    print(read, flush=True)
    record("million", {"points": points, "reading": read}, seed=given.seed, folder=destination(given))
    return 0


if __name__ == "__main__":
    sys.exit(main())
