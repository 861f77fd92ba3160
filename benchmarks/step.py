"""What weak supervision costs: the time of a training step, over that of the same step with labels.

    python benchmarks/step.py [--devices cpu cuda] [--quick] [--seed 0] [--out DIR] [--data-dir DIR]

Each task's preset best on its embedded data (*formulas* on HWF where ``--data-dir`` holds it), both objectives in turn,
an epoch of some steps at a time: fetching, distorting, the network, sampling, the gradient, the optimiser, the books.
The share of a weakly supervised step that sampling takes is what the run's own stopwatch says.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from measure import destination, interleaved, options, record
from torch.utils.data import Subset

from softground.experiments import Experiment
from softground.experiments.named import named_recipe
from softground.learner.datasets import parts_of
from softground.learner.loop import Loop

# Steps of an epoch, how many epochs are timed, and what the options are beside the preset.
STEPS = {"cpu": 6, "cuda": 100}
REPEATS = {"cpu": 9, "cuda": 11}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "formulas": ("hwf", {}),
    "formulas, embedded digits": ("hwf", {"data": "digits"}),
    "sudoku": ("sudoku", {"train_size": 500}),
    "sdsp": ("sdsp", {}),
    "addition": ("addition", {}),
    "addition, 4 digits": ("addition", {"digits": 4}),
}


def prepared(task: str, given: dict[str, Any], objective: str, device: str, steps: int, seed: int) -> Any:
    """A function that trains one epoch of ``steps`` batches, and gives its record."""
    experiment = Experiment.named(task, objective=objective, device=device, seed=seed, **given)
    count = min(len(experiment.train), steps * experiment.batch_size)  # type: ignore[arg-type]
    data = Subset(experiment.train, range(count))
    learner = experiment.learner()
    loop = Loop(learner)
    loop.prepare(parts_of(learner.task, data, learner.fabric.device))
    # A long stage, so that the learning rate stays where it begins and no epoch is the last.
    stage = replace(copy.copy(learner.stages[0]), epochs=10**6)
    base = loop.begin_stage(stage)
    return lambda: loop.epoch(stage, 0, base), math.ceil(count / experiment.batch_size), experiment.batch_size


def measure(name: str, device: str, given: Any) -> dict[str, Any]:
    """Both objectives of one task on one device."""
    task, extra = CASES[name]
    if name == "formulas" and given.data_dir:
        extra = extra | {"data": "hwf", "data_dir": given.data_dir}
    if given.quick:
        extra = extra | ({"image_size": 8} if task == "hwf" else {}) | ({"train_size": 50} if task == "sdsp" else {})
    steps = 2 if given.quick else STEPS[device]
    weak, count, batch = prepared(task, extra, "grounding", device, steps, given.seed)
    labels, _, _ = prepared(task, extra, "sup", device, steps, given.seed)
    repeats = 3 if given.quick else REPEATS[device]
    times = interleaved({"labels": labels, "weak": weak}, repeats, 1 if device == "cpu" else 3, device)
    parts = [weak()["seconds"] for _ in range(3)]
    share = sorted(p["sampling"] / max(1e-9, sum(p[k] for k in ("network", "sampling", "solver"))) for p in parts)[1]
    milliseconds = {k: {p: 1000 * v[p] / count for p in ("median", "low", "high")} for k, v in times["seconds"].items()}
    return {
        "ratio": times["ratio"]["weak"]["median"],
        "spread": times["ratio"]["weak"],
        "milliseconds": milliseconds,
        "sampling_share": share,
        "batch_size": batch,
        "recipe": named_recipe(task, seed=given.seed, **extra)[0].to_json(),
    }


def main() -> None:
    """Measure every task on every device."""
    parser = options(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with hwf.npz; without it formulas use embedded digits")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    given = parser.parse_args()
    for device in given.devices:
        for name in given.only:
            figures = measure(name, device, given)
            record("step", {name: {device: figures}}, seed=given.seed, device=device, folder=destination(given))
            print(
                f"{name} on {device}: {figures['ratio']:.3f} "
                f"({figures['milliseconds']['weak']['median']:.1f} ms against "
                f"{figures['milliseconds']['labels']['median']:.1f} ms with labels, "
                f"sampling {figures['sampling_share']:.0%})",
                flush=True,
            )


if __name__ == "__main__":
    main()
