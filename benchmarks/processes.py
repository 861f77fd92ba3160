"""Two processes under torchrun beside one: seconds an epoch for the same global batch, and the accuracy they end with.

    python benchmarks/processes.py [--quick] [--seeds 3] [--out FOLDER]

Runs of ``softground train hwf --preset best`` on the embedded digits take turns: one process with one thread, two
processes with one thread each (gloo), and one process with two threads, which is the other way to use two cores. An
epoch's seconds come from the run's own metrics; the first epoch is left out. The *overhead* of two processes is their
time over half of one process's: 1 would be perfect. One more run with half the batch on one process tells how much of
it is the exchange of gradients and how much the smaller batches.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import ROOT, destination, options, record, spread

RUN = [
    "train",
    "hwf",
    "--data",
    "digits",
    "--preset",
    "best",
    "--image-size",
    "16",
    "--evaluate-every",
    "1000",
    "--device",
    "cpu",
    "--quiet",
]
SIZE = ["--train-size", "2000", "--test-size", "500", "--epochs", "6"]
QUICK = ["--train-size", "64", "--test-size", "16", "--epochs", "2", "--length", "3"]
ACCURACIES = [f"{kind}{what}_accuracy" for kind in ("", "grammatical_") for what in ("symbol", "calculation")]
BATCH = 64
WAYS: dict[str, tuple[int, int, int]] = {  # processes, threads of each, global batch
    "one process": (1, 1, BATCH),
    "two processes": (2, 1, BATCH),
    "one process, two threads": (1, 2, BATCH),
    "one process, half the batch": (1, 1, BATCH // 2),
}


def run(way: str, seed: int, size: list[str], folder: Path) -> dict[str, Any]:
    """One run; the median epoch's seconds after the first, and the accuracy at the end."""
    processes, threads, batch = WAYS[way]
    out = folder / f"{way} {seed}"
    given = [*RUN, *size, "--batch-size", str(batch), "--seed", str(seed), "--out", str(out)]
    several = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    command = [sys.executable, "-m", *(several if processes > 1 else []), "softground", *given]
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    epochs = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    # Up to the end of the last batch: the evaluation after the last epoch is no part of it.
    seconds = [sum(e["seconds"][part] for part in ("network", "sampling", "solver")) for e in epochs[1:]]
    figures = json.loads((out / "summary.json").read_text())
    return {"seconds": statistics.median(seconds), **{name: figures[name] for name in ACCURACIES}}


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + (1 if given.quick else given.seeds))
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for turn, seed in enumerate(seeds):
            for way in WAYS if turn % 2 == 0 else reversed(WAYS):
                found[way].append(run(way, seed, QUICK if given.quick else SIZE, Path(folder)))
                print(f"{way}, seed {seed}: {found[way][-1]}", flush=True)
    one = [r["seconds"] for r in found["one process"]]
    two = [r["seconds"] for r in found["two processes"]]
    half = [r["seconds"] for r in found["one process, half the batch"]]
    figures: dict[str, Any] = {
        "ways": {
            way: {
                "processes": WAYS[way][0],
                "threads": WAYS[way][1],
                "batch_size": WAYS[way][2],
                "epoch_seconds": spread([r["seconds"] for r in runs]),
                "faster": spread([a / r["seconds"] for a, r in zip(one, runs, strict=True)]),
                **{name: [r[name] for r in runs] for name in ACCURACIES},
            }
            for way, runs in found.items()
        },
        "overhead": spread([2 * b / a for a, b in zip(one, two, strict=True)]),
        "overhead_of_exchange": spread([2 * b / h for h, b in zip(half, two, strict=True)]),
        "options": " ".join([*RUN, *(QUICK if given.quick else SIZE)]),
    }
    page = record("processes", figures, seed=given.seed, folder=destination(given))
    print(json.dumps({key: page[key] for key in ("overhead", "overhead_of_exchange")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
