"""The memory of one of several processes over its share of one process's.

    python benchmarks/shares.py [--quick] [--processes 4] [--out FOLDER]

Formulas of length 7 with their values, a million of them in files that are read item by item, and a small network: one
epoch, with checkpoints and summary, on one process and on four under torchrun (gloo), on the CPU. A process's peak is
its largest resident set; of four, that of the largest counts, and the mean of all is given beside it. The *baseline* is
the peak of the same run on a thousand examples: Python, torch, the rule's table, the network, a batch. Two ratios are
given: of whole peaks, and of what is above the baseline, which is what grows with the number of examples.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from measure import ROOT, destination, options, record
from memory import resident_peak
from torch import nn
from torch.utils.data import Dataset

from softground import Learner, Stage
from softground.kernels import Guided
from softground.projections import RandomDrop
from softground.schedules import Constant
from softground.tasks.formulas import formula_task
from softground.training import SoftenedGrounding

LENGTH, WIDTH = 7, 16  # symbols, and bytes of each one's input
BATCH = 1000
EXAMPLES, FEW = 10**6, 1000


class Answers(Sequence[Any]):
    """The answers in a file, of which some are read at a time."""

    def __init__(self, path: Path, values: list[Any]) -> None:
        self.path, self.values, self.count = path, values, path.stat().st_size // 4

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def __getitem__(self, some: Any) -> Any:
        rows = np.fromfile(self.path, np.int32)[some]
        return self.values[rows] if isinstance(some, int) else [self.values[i] for i in rows]


class Filed(Dataset[Any]):
    """Inputs in a file, of which one is read at a time: pages that are merely mapped would count as memory."""

    def __init__(self, folder: Path, task: Any) -> None:
        self.file = os.open(folder / "inputs", os.O_RDONLY)
        values = [task.constraint.answer(torch.tensor(i)) for i in json.loads((folder / "ids").read_text())]
        self.answers = Answers(folder / "answers", values)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        size = LENGTH * WIDTH
        x = np.frombuffer(bytearray(os.pread(self.file, size, index * size)), np.uint8)
        return x.reshape(LENGTH, WIDTH), None  # the answers are known beforehand


def write(folder: Path, task: Any, count: int, seed: int) -> None:
    """A data set: random formulas, and inputs that show one of 16 columns for each symbol."""
    chance = torch.Generator().manual_seed(seed)
    z = task.space.states(torch.randint(task.space.size, (4 * count,), generator=chance))
    ids = task.constraint.answer_ids(z)
    z, ids = z[ids >= 0][:count], ids[ids >= 0][:count]
    distinct, place = ids.unique(return_inverse=True)
    (folder / "ids").write_text(json.dumps(distinct.tolist()))
    place.numpy().astype(np.int32).tofile(folder / "answers")
    (nn.functional.one_hot(z, WIDTH) * 200).numpy().astype(np.uint8).tofile(folder / "inputs")


class Small(nn.Module):
    """One layer for all sites."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.float() / 255)


def child(folder: Path, out: Path, seed: int) -> None:
    """One process of a run; leaves its peak in ``out``."""
    before, began = resident_peak(), time.perf_counter()
    task = formula_task(LENGTH)
    walk = SoftenedGrounding(Guided(task.inverse, RandomDrop(task.space, 2)), Constant(1.0))
    stage = Stage("I", walk, 1, lambda p: torch.optim.SGD(p, lr=0.1))
    torch.manual_seed(seed)
    learner = Learner(task, Small(task.space.outputs), [stage], batch_size=BATCH, seed=seed, device="cpu")
    learner.fit(Filed(folder, task), out=out / "run", quiet=True)
    rank = learner.fabric.global_rank
    facts = {"peak": resident_peak(), "before": before, "seconds": time.perf_counter() - began}
    (out / f"{rank}.json").write_text(json.dumps(facts))
    sys.stdout.flush()
    if learner.fabric.world_size > 1:
        torch.distributed.destroy_process_group()
        os._exit(0)


def run(processes: int, count: int, seed: int) -> dict[str, Any]:
    """A run in processes of its own: the largest one's peak, and the sizes of the checkpoint's files."""
    with tempfile.TemporaryDirectory() as place:
        data, out = Path(place) / "data", Path(place) / "out"
        data.mkdir(), out.mkdir()
        write(data, formula_task(LENGTH), count, seed)
        several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        command = [sys.executable, *(several if processes > 1 else []), __file__, "--seed", str(seed)]
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, "--child", str(data), str(out)], check=True, env=environment)
        found = [json.loads((out / f"{rank}.json").read_text()) for rank in range(processes)]
        newest = max((out / "run").glob("checkpoint-*")).name.split("-")[1]
        files = [path.stat().st_size for path in (out / "run").glob(f"*-{newest}-*.safetensors")]
    return {
        "MiB": max(one["peak"] for one in found) / 2**20,
        "MiB_each": [one["peak"] / 2**20 for one in found],
        "MiB_imports": max(one["before"] for one in found) / 2**20,
        "seconds": max(one["seconds"] for one in found),
        "checkpoint_bytes": sorted(files),
    }


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--child", nargs=2, type=Path, metavar=("DATA", "OUT"), help="one process of a run")
    given = parser.parse_args()
    if given.child:
        child(*given.child, given.seed)
        return 0
    count, few = (3000, 300) if given.quick else (EXAMPLES, FEW)
    found: dict[str, dict[str, Any]] = {}
    for processes in (1, given.processes):
        found[str(processes)] = {"all": run(processes, count, given.seed), "baseline": run(processes, few, given.seed)}
        print(processes, found[str(processes)], flush=True)
    one, several = found["1"], found[str(given.processes)]
    above = [each["all"]["MiB"] - each["baseline"]["MiB"] for each in (one, several)]
    mean = fmean(several["all"]["MiB_each"]) - fmean(several["baseline"]["MiB_each"])
    figures = {
        "examples": count,
        "few": few,
        "processes": given.processes,
        "runs": found,
        "ratio": several["all"]["MiB"] / (one["all"]["MiB"] / given.processes),
        "ratio_above_baseline": above[1] / (above[0] / given.processes),
        "mean_ratio_above_baseline": mean / (above[0] / given.processes),
        "bytes_per_example": above[0] * 2**20 / count,
    }
    page = record("shares", figures, seed=given.seed, folder=destination(given))
    print(json.dumps({name: page[name] for name in ("ratio", "ratio_above_baseline", "bytes_per_example")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
