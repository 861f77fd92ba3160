"""Measure visual Sudoku: every figure in the documentation about it comes from this script.

    python benchmarks/sudoku.py --data-dir DIR [--only lenet] [--seeds 0 1 2] [--workers 2] [--device cpu]

Each run is what ``softground train sudoku --data mnist --data-dir DIR`` does with the options recorded beside it.
Results are merged into ``benchmarks/results/sudoku.json``, one entry per setting, training size and seed; runs on
record are not repeated unless ``--again`` is given. All settings but ``convnet`` use LeNet-5.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

from softground.learner import Learner
from softground.runs import environment
from softground.tasks.sudoku import SudokuOptions

SIZES = (50, 100, 300, 500)
# What the options of each setting are, beside the training size, the seed and where the data lie.
SETTINGS: dict[str, dict[str, Any]] = {
    "best": {},
    "best, labels": {"objective": "sup"},
    "convnet": {"network": "convnet"},
    "convnet, labels": {"network": "convnet", "objective": "sup"},
    "long": {"epochs": 300},
    "long convnet": {"network": "convnet", "epochs": 300},
    "plain": {"augment": False},
    "plain, labels": {"augment": False, "objective": "sup"},
}
LARGE: dict[str, dict[str, Any]] = {
    "9x9": {"size": 9},
    "9x9, labels": {"size": 9, "objective": "sup"},
}
FIGURES = ("board_accuracy", "relabelled_board_accuracy", "relabelled_symbol_accuracy")


def main() -> None:
    """Run what is missing, then print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=None, help=f"among: {', '.join([*SETTINGS, *LARGE])}")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "sudoku.json")
    given = parser.parse_args()
    record: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {"runs": {}}
    jobs = []
    for name, settings in (SETTINGS | LARGE).items():
        if given.only is None or name in given.only:
            for size in [1000] if name in LARGE else given.sizes:
                for seed in given.seeds:
                    key = f"{name} | {size} boards | seed {seed}"
                    if given.again or key not in record["runs"]:
                        jobs.append((key, settings | {"train_size": size, "seed": seed}, given.data_dir, given.device))
    with multiprocessing.get_context("spawn").Pool(given.workers, maxtasksperchild=1) as pool:
        for key, result in pool.imap_unordered(run, jobs):
            record["runs"][key] = result
            record["table"] = table(record["runs"])
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
            print(key, result["figures"], result["grounded"], result["seconds"], flush=True)
    for name, figures in table(record["runs"]).items():
        print(f"{name}: {figures}")


def run(job: tuple[str, dict[str, Any], Path, str]) -> tuple[str, dict[str, Any]]:
    """One training run; the figures of its last stage on 1,000 test boards."""
    key, settings, data_dir, device = job
    torch.set_num_threads(1)
    options = SudokuOptions(
        data="mnist", data_dir=data_dir, device=device, quiet=True, evaluate_every=10**6, **settings
    )  # fmt: skip
    experiment = options.build()
    learner = Learner(
        experiment.task, experiment.network, experiment.stages, batch_size=experiment.batch_size, seed=options.seed,
        augment=experiment.augment, device=options.device, evaluate_every=options.evaluate_every,
    )  # fmt: skip
    began = time.perf_counter()
    learner.fit(experiment.train, experiment.test)
    seconds = time.perf_counter() - began
    flags = " ".join(flag(k, v) for k, v in settings.items())
    return key, {
        "command": f"softground train sudoku --data mnist --data-dir DIR {flags}",
        "figures": list(learner.results_.values())[-1],
        "stages": learner.results_,
        "grounded": learner.grounded(experiment.train),
        "epochs": len(learner.history_),
        "parameters": sum(p.numel() for p in experiment.network.parameters()),
        "seconds": round(seconds, 1),
        "environment": environment(),
    }


def flag(name: str, value: Any) -> str:
    """An option as it is written on the command line."""
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {value}"


def table(runs: dict[str, Any]) -> dict[str, Any]:
    """Mean and standard deviation over seeds, in per cent."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, result in runs.items():
        groups[key.rsplit(" | ", 1)[0]].append(result)
    rows = {}
    for name, results in sorted(groups.items()):
        row: dict[str, Any] = {"seeds": len(results), "grounded": [r["grounded"] for r in results]}
        for figure in FIGURES:
            values = [100 * r["figures"][figure] for r in results]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            row[figure] = {"mean": round(statistics.mean(values), 2), "sd": round(spread, 2)}
        rows[name] = row
    return rows


if __name__ == "__main__":
    main()
