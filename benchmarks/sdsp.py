"""Measure shortest paths: every figure in the documentation about them comes from this script.

    python benchmarks/sdsp.py [--only mlp] [--seeds 0 1 2] [--workers 2] [--device cpu]

Each run is what ``softground train sdsp`` does with the options recorded beside it. Results are merged into
``benchmarks/results/sdsp.json``, one entry per setting and seed; runs on record are not repeated unless ``--again``
is given. Graphs depend on the seed alone, so settings with the same seed are compared on the same graphs.
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
from softground.tasks.sdsp import PathOptions

# The paper's network (an MLP with 128 hidden units), with our kernel and optimiser.
MLP: dict[str, Any] = {
    "network": "mlp", "relabel": True, "kernel": "gibbs", "sigma": 2.0, "margin": 2.0**-10, "epochs": 100,
}  # fmt: skip
# What the options of each setting are, beside the seed.
SETTINGS: dict[str, dict[str, Any]] = {
    "best": {},
    "best, labels": {"objective": "sup"},
    "mlp": MLP,
    "mlp, labels": MLP | {"objective": "sup"},
    "paper": {"preset": "paper"},
    "paper, labels": {"preset": "paper", "objective": "sup"},
}
FIGURES = ("path_accuracy", "graph_accuracy", "spearman")


def main() -> None:
    """Run what is missing, then print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=None, help=f"among: {', '.join(SETTINGS)}")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "sdsp.json")
    given = parser.parse_args()
    record: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {"runs": {}}
    jobs = []
    for seed in given.seeds:
        for name, settings in SETTINGS.items():
            key = f"{name} | seed {seed}"
            if (given.only is None or name in given.only) and (given.again or key not in record["runs"]):
                jobs.append((key, settings | {"seed": seed}, given.device))
    with multiprocessing.get_context("spawn").Pool(given.workers, maxtasksperchild=1) as pool:
        for key, result in pool.imap_unordered(run, jobs):
            # Another process may have added runs meanwhile.
            record = json.loads(given.out.read_text()) if given.out.exists() else record
            record["runs"][key] = result
            record["table"] = table(record["runs"])
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
            print(key, result["figures"], result["seconds"], flush=True)
    for name, figures in table(record["runs"]).items():
        print(f"{name}: {figures}")


def run(job: tuple[str, dict[str, Any], str]) -> tuple[str, dict[str, Any]]:
    """One training run; the figures of its stages on 1,000 test graphs."""
    key, settings, device = job
    torch.set_num_threads(1)
    options = PathOptions(device=device, quiet=True, evaluate_every=10**6, **settings)  # type: ignore[arg-type]
    experiment = options.build()
    learner = Learner(
        experiment.task, experiment.network, experiment.stages, batch_size=experiment.batch_size, seed=options.seed,
        augment=experiment.augment, device=options.device, evaluate_every=options.evaluate_every,
    )  # fmt: skip
    began = time.perf_counter()
    learner.fit(experiment.train, experiment.test)
    seconds = time.perf_counter() - began
    return key, {
        "command": f"softground train sdsp {' '.join(flag(k, v) for k, v in settings.items())}",
        "figures": list(learner.results_.values())[-1],
        "stages": learner.results_,
        "epochs": len(learner.history_),
        "acceptance": learner.history_[-1].get("acceptance"),
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
    """Mean and standard deviation over seeds, in per cent (Spearman's correlation too)."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, result in runs.items():
        groups[key.rsplit(" | ", 1)[0]].append(result)
    rows = {}
    for name, results in sorted(groups.items()):
        row: dict[str, Any] = {"seeds": len(results)}
        for figure in FIGURES:
            values = [100 * r["figures"][figure] for r in results]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            row[figure] = {"mean": round(statistics.mean(values), 2), "sd": round(spread, 2)}
        rows[name] = row
    return rows


if __name__ == "__main__":
    main()
