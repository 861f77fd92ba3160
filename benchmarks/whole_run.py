"""Seconds until a run has 95 % calculation accuracy on the test set, learning from the formulas' values alone.

The accuracy is over all readings: what is no formula is wrong. That of the most probable formula is given beside it.

    python benchmarks/whole_run.py [--quick] [--data-dir DIR] [--devices cpu cuda] [--seed 0] [--repeats 3] [--choose]

With ``--data-dir`` the HWF set (6,000 training formulas), else the embedded digits. The run is ``softground train hwf
--preset best`` with the options recorded beside the figures, chosen for time to that accuracy, and stops at the first
epoch whose evaluation reaches it. Training, evaluation (after every epoch) and loading (data, network and table) are
given apart; ``total`` is all three, and importing the libraries comes on top. Runs with seeds 0, 1, 2 follow each other
in one process; ``runs`` has each, the first of which also loads what a GPU loads but once.

``--choose`` tries other options. A fifth of the training formulas is put away and takes the place of the test formulas,
which are not looked at. Of the candidates with which every run gets there, the one whose slowest run trains the
shortest is the choice; ``whole_run_choice.json`` has all.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

import argparse  # noqa: E402
import json  # noqa: E402
from collections.abc import Mapping  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import torch  # noqa: E402
from measure import destination, options, record, spread, wait  # noqa: E402

from softground.experiments import Experiment  # noqa: E402

IMPORTED = time.perf_counter() - BEGAN
GOAL, SHARE = 0.95, 0.2
# A short one-cycle schedule and small images. What is not named is the preset's.
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "hwf": {
        "cpu": {"epochs": 3, "batch_size": 32, "image_size": 16, "augment": False},
        "cuda": {"epochs": 3, "batch_size": 64, "image_size": 16, "augment": False},
    },
    "digits": {
        "cpu": {"epochs": 6, "batch_size": 64, "image_size": 8},
        "cuda": {"epochs": 6, "batch_size": 64, "image_size": 8},
    },
}
# What ``--choose`` tries: the settings above, and each of these in their place.
CANDIDATES: dict[str, dict[str, Any]] = {
    "as it was": {},
    "4 epochs": {"epochs": 4},
    "6 epochs": {"epochs": 6},
    "24 pixels": {"image_size": 24},
    "batches of 32": {"batch_size": 32},
    "learning rate 1e-2": {"learning_rate": 1e-2},
}


class Reached(Exception):
    """The goal is reached; the way out of the training loop."""


class Watch:
    """An observer that tells training from evaluation by the loop's own events, and ends the run at the goal."""

    def __init__(self, device: str, goal: float = GOAL, part: str = "test") -> None:
        self.device, self.goal, self.part = device, goal, part
        self.training = self.evaluation = 0.0
        self.epochs: list[dict[str, float]] = []
        self.mark = time.perf_counter()

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        if event == "begin":
            self._lap()
        elif event == "batch" and facts["step"] + 1 == facts["steps"]:
            wait(self.device)
            self.training += self._lap()
        elif event == "epoch":
            wait(self.device)
            self.evaluation += self._lap()
            accuracy = facts[f"{self.part}_calculation_accuracy"]
            beside = {"grammatical_accuracy": facts[f"{self.part}_grammatical_calculation_accuracy"]}
            seconds = {"training": self.training, "evaluation": self.evaluation}
            self.epochs.append({"accuracy": accuracy} | beside | seconds)
            print(f"epoch {len(self.epochs)}: {accuracy:.4f} after {self.training:.1f} s of training", flush=True)
            if accuracy >= self.goal:
                raise Reached

    def _lap(self) -> float:
        now = time.perf_counter()
        passed, self.mark = now - self.mark, now
        return passed


def run(device: str, settings: dict[str, Any], source: dict[str, Any], seed: int) -> dict[str, Any]:
    """One run to the goal, on the validation part where there is one; seconds by kind."""
    began = time.perf_counter()
    experiment = Experiment.named("hwf", device=device, seed=seed, evaluate_every=1, **source, **settings)
    learner = experiment.learner()
    held = experiment.validation
    watch = Watch(device, part="test" if held is None else "validation")
    try:
        learner.fit(experiment.train, experiment.test if held is None else None, held, observer=watch)
        reached = False
    except Reached:
        reached = True
    total = time.perf_counter() - began
    flags = " ".join(flag(name, value) for name, value in (source | settings).items())
    return {
        "reached": reached,
        "accuracy": watch.epochs[-1]["accuracy"],
        "grammatical_accuracy": watch.epochs[-1]["grammatical_accuracy"],
        "epochs": len(watch.epochs),
        "seconds": {
            "total": total,
            "training": watch.training,
            "evaluation": watch.evaluation,
            "loading": total - watch.training - watch.evaluation,
        },
        "by_epoch": watch.epochs,
        "examples": len(experiment.train),  # type: ignore[arg-type]
        "parameters": sum(p.numel() for p in experiment.network.parameters()),
        "command_line": f"softground train hwf --preset best {flags} --device {device}",
        "seed": seed,
        "recipe": experiment.recipe and experiment.recipe.to_json(),
    }


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians and quartiles of the seconds of all runs; whether each of them reached the goal."""
    kinds = runs[0]["seconds"]
    return {
        "seconds": {kind: spread([r["seconds"][kind] for r in runs]) for kind in kinds} | {"imports": IMPORTED},
        "reached": all(r["reached"] for r in runs),
        "accuracy": min(r["accuracy"] for r in runs),
        "grammatical_accuracy": min(r["grammatical_accuracy"] for r in runs),
        "epochs": max(r["epochs"] for r in runs),
        "goal": GOAL,
        "command_line": runs[0]["command_line"],
        "runs": runs,
    }


def flag(name: str, value: Any) -> str:
    """An option as it is written on the command line; a folder is anybody's."""
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {'DIR' if isinstance(value, Path) else value}"


def main() -> None:
    given = arguments().parse_args()
    name = "hwf" if given.data_dir else "digits"
    source: dict[str, Any] = {"data": name} | ({"data_dir": given.data_dir} if given.data_dir else {})
    if given.quick:
        source |= {"train_size": 500, "test_size": 100}
    for device in given.devices if given.choose else ():
        choose(device, SETTINGS[name][device], source | {"validation": SHARE}, name, given)
    for device in () if given.choose else given.devices:
        settings = SETTINGS[name][device] | overrides(given) | ({"epochs": 2} if given.quick else {})
        if device == "cuda":
            torch.zeros(1, device="cuda")  # the driver's own start is no part of a run
        seeds = range(given.seed, given.seed + (1 if given.quick else given.repeats))
        figures = {name: {device: summary([run(device, settings, source, seed) for seed in seeds])}}
        saved = record("whole_run", figures, seed=given.seed, device=device, folder=destination(given))
        shown = {k: v for k, v in saved[name][device].items() if k != "runs"}
        print(json.dumps(shown, indent=1))


def choose(device: str, settings: dict[str, Any], source: dict[str, Any], name: str, given: argparse.Namespace) -> None:
    """Try the candidates on formulas put away, and write down which gets there first."""
    seeds = range(given.seed, given.seed + (1 if given.quick else given.repeats))
    run(device, settings | {"epochs": 1}, source, given.seed)  # what is loaded but once
    tried = {}
    for label, other in CANDIDATES.items():
        print(label, flush=True)
        made = settings | other | ({"epochs": 1} if given.quick else {})
        tried[label] = summary([run(device, made, source, seed) for seed in seeds]) | {"settings": made}
    figures = {name: {device: {"candidates": tried, "choice": quickest(tried)}}}
    record("whole_run_choice", figures, seed=given.seed, device=device, folder=destination(given))
    for label, each in tried.items():
        print(f"{label}: reached {each['reached']}, {max(r['seconds']['training'] for r in each['runs']):.1f} s")
    print(f"{name}, {device}: {quickest(tried)}")


def quickest(tried: Mapping[str, Any]) -> str | None:
    """The candidate whose slowest run trains the shortest, of those with which every run reaches the goal."""
    slowest = {
        label: max(run["seconds"]["training"] for run in each["runs"])
        for label, each in tried.items()
        if each["reached"]
    }
    return min(slowest, key=lambda label: slowest[label], default=None)


def overrides(given: argparse.Namespace) -> dict[str, Any]:
    """Options of the run that were given on the command line."""
    names = ("epochs", "batch_size", "learning_rate", "image_size", "augment")
    return {name: getattr(given, name) for name in names if getattr(given, name) is not None}


def arguments() -> argparse.ArgumentParser:
    parser = options(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with hwf.npz (default: embedded digits)")
    parser.add_argument("--choose", action="store_true", help="try other settings on training formulas put away")
    parser.add_argument("--repeats", type=int, default=3, help="runs, with seeds from --seed on")
    for name in ("epochs", "batch-size", "image-size"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--augment", action=argparse.BooleanOptionalAction)
    return parser


if __name__ == "__main__":
    main()
