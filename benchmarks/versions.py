"""What a change costs: the time of a training step of this tree over that of an older one, in one run.

    python benchmarks/versions.py --old DIR [--devices cpu cuda] [--quick] [--seed 0] [--out DIR]

``DIR`` holds an older tree, as ``git worktree add DIR COMMIT`` makes it. Each prepares the same task in a process
of its own; then they take turns, an epoch of some steps at a time. Each pair of processes gives a ratio, the median of
its turns; the median of several pairs is reported with its quartiles.
"""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from measure import ROOT, destination, interleaved, options, record, spread

STEPS = {"cpu": 6, "cuda": 40}
REPEATS = {"cpu": 9, "cuda": 15}
PAIRS = 5  # of processes: where a process lies in memory matters as much as a change does
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "formulas": ("hwf", {}),
    "sudoku": ("sudoku", {"train_size": 500}),
    "sdsp": ("sdsp", {"train_size": 1000}),
    "addition": ("addition", {}),
    "formulas, guided": ("hwf", {"kernel": "guided", "steps": 4}),
}


def worker(task: str, given: dict[str, Any], device: str, steps: int, seed: int) -> None:
    """Prepare an epoch, then train one for each line that is read, and print its seconds."""
    import torch
    from torch.utils.data import Subset

    from softground.learner import Learner
    from softground.learner.batches import Batches
    from softground.learner.loop import Loop

    try:
        from softground.experiments import Experiment

        experiment: Any = Experiment.named(task, device=device, seed=seed, **given)
        learner: Any = experiment.learner()
        loop = Loop(learner)
    except ImportError:  # trees before 0.2.0
        from softground.tasks import TASKS

        experiment = TASKS[task](device=device, seed=seed, **given).build()  # type: ignore[call-arg,attr-defined]
        learner = Learner(experiment.task, experiment.network, experiment.stages, device=device)  # type: ignore[arg-type]
        parts = learner.task, learner.network, learner.stages, learner.fabric, experiment.batch_size, seed
        loop = Loop(*parts, experiment.augment)  # type: ignore[arg-type]
    count = min(len(experiment.train), steps * experiment.batch_size)
    data: Any = Subset(experiment.train, range(count))
    try:
        from softground.learner.parts import parts_of

        loop.prepare(parts_of(learner.task, data, learner.fabric.device))
    except ImportError:  # trees before 0.3.0
        loop.prepare(Batches(data, learner.fabric.device))  # type: ignore[arg-type]
    stage = replace(copy.copy(learner.stages[0]), epochs=10**6)  # no epoch is the last
    base = loop.begin_stage(stage)
    print(math.ceil(count / experiment.batch_size), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        loop.epoch(stage, 0, base)
        if device == "cuda":
            torch.cuda.synchronize()
        print(time.perf_counter() - began, flush=True)


class Tree:
    """A worker of one source tree."""

    def __init__(self, root: Path, arguments: list[Any]) -> None:
        environment = os.environ | {"PYTHONPATH": str(root / "src")}
        command = [sys.executable, __file__, "--worker", json.dumps(arguments)]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
        )
        self.steps = int(self._answer())
        self.seconds = 0.0

    def __call__(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.seconds += float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("A worker ended; what it said is above.")
        return line


def measure(name: str, device: str, given: Any) -> dict[str, Any]:
    """One task on one device: both trees in turn."""
    task, extra = CASES[name]
    steps, repeats, pairs = (2, 3, 1) if given.quick else (STEPS[device], REPEATS[device], PAIRS)
    arguments = [task, extra, device, steps, given.seed]
    ratios, seconds = [], {"old": [], "new": []}  # type: ignore[var-annotated]
    for _ in range(pairs):
        trees = {"old": Tree(given.old.resolve(), arguments), "new": Tree(ROOT, arguments)}
        times = interleaved(trees, repeats, 3, "cpu", _Clock(trees))
        ratios.append(times["ratio"]["new"]["median"])
        for name, tree in trees.items():
            seconds[name].append(1000 * times["seconds"][name]["median"] / tree.steps)
            tree.process.kill()
    return {"ratio": spread(ratios), "milliseconds": {name: spread(values) for name, values in seconds.items()}}


class _Clock:
    """Counts the seconds that the workers say they took, so that pipes are not timed."""

    def __init__(self, trees: dict[str, Tree]) -> None:
        self.trees = trees

    def __call__(self) -> float:
        return sum(tree.seconds for tree in self.trees.values())


def main() -> None:
    """Measure every case on every device."""
    if sys.argv[1:2] == ["--worker"]:
        return worker(*json.loads(sys.argv[2]))
    parser = options(__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the older tree")
    parser.add_argument("--commit", default="unknown", help="the older tree's commit, for the record")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    given = parser.parse_args()
    for device in given.devices:
        for name in given.only:
            figures = measure(name, device, given) | {"old_commit": given.commit}
            record("versions", {name: {device: figures}}, seed=given.seed, device=device, folder=destination(given))
            new, old = (figures["milliseconds"][tree]["median"] for tree in ("new", "old"))
            ratio = figures["ratio"]
            print(
                f"{name} on {device}: {ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}), "
                f"{new:.2f} ms against {old:.2f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
