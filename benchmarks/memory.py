"""Peak memory of a run that learns from values, over the peak of the same run with labels.

    python benchmarks/memory.py [--quick] [--data-dir DIR] [--devices cpu cuda]

Both are ``softground train hwf --preset best`` for one epoch of 6,000 formulas, the second with ``--objective sup``,
each in a process of its own. On the CPU the peak is the process's largest resident set (Python and torch included,
which both runs need: ``MiB_before`` says how much of it); on a GPU it is the most that torch had allocated.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from measure import destination, options, record, spread

from softground.experiments import Experiment

OBJECTIVES = ("grounding", "sup")
REPEATS = 2  # peaks hardly vary, and each takes two runs


def child(given: argparse.Namespace) -> dict[str, Any]:
    """One run in this process: its peaks in bytes, and its recipe."""
    before = resident_peak()
    source: dict[str, Any] = {"data": "hwf", "data_dir": given.data_dir} if given.data_dir else {"data": "digits"}
    count = 300 if given.quick else 6000
    experiment = Experiment.named(
        "hwf",
        objective=given.objective,
        device=given.devices[0],
        seed=given.seed,
        epochs=1,
        train_size=count,
        test_size=100,
        evaluate_every=1000,
        **source,
    )
    learner = experiment.learner()
    learner.fit(experiment.train, experiment.test)
    on_gpu = torch.cuda.max_memory_allocated() if given.devices[0] == "cuda" else 0
    recipe = experiment.recipe and experiment.recipe.to_json()
    return {"peak": on_gpu or resident_peak(), "before": before, "recipe": recipe}


def resident_peak() -> int:
    """Bytes. From the kernel's own mark where there is one: ``ru_maxrss`` also counts the parent's, across the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(given: argparse.Namespace, device: str) -> dict[str, Any]:
    """Peaks of both objectives, taking turns, and their ratio."""
    runs: dict[str, list[dict[str, Any]]] = {objective: [] for objective in OBJECTIVES}
    for _ in range(1 if given.quick else REPEATS):
        for objective in OBJECTIVES:
            command = [sys.executable, __file__, "--objective", objective, "--devices", device]
            command += ["--seed", str(given.seed)]
            command += ["--quick"] * given.quick + (["--data-dir", str(given.data_dir)] if given.data_dir else [])
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            runs[objective].append(json.loads(done.stdout.splitlines()[-1]))
    peaks = {objective: spread([run["peak"] / 2**20 for run in found]) for objective, found in runs.items()}
    ratios = [a["peak"] / b["peak"] for a, b in zip(runs["grounding"], runs["sup"], strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "spread": spread(ratios),
        "MiB": peaks["grounding"],
        "MiB_with_labels": peaks["sup"],
        "MiB_before": statistics.median(run["before"] for run in runs["sup"]) / 2**20,
        "data": "hwf" if given.data_dir else "digits",
        "recipe": runs["grounding"][0]["recipe"],
    }


def main() -> None:
    given = arguments().parse_args()
    if given.objective:
        print(json.dumps(child(given)))
        return
    for device in given.devices:
        figures = {"formulas": {device: measure(given, device)}}
        saved = record("memory", figures, seed=given.seed, device=device, folder=destination(given))
        print(json.dumps(saved["formulas"][device], indent=1))


def arguments() -> argparse.ArgumentParser:
    parser = options(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with hwf.npz (default: embedded digits)")
    parser.add_argument("--objective", choices=OBJECTIVES, help="run one objective in this process and print its peak")
    return parser


if __name__ == "__main__":
    main()
