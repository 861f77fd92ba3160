"""Training runs of named settings, several seeds of each: what the scripts of single tasks share.

Results are merged into a JSON, one entry per run; runs on record are not repeated unless ``--again`` is given. The
table beside them has mean and standard deviation over the seeds, in per cent.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from softground.experiments import Experiment
from softground.runs import provenance

RESULTS = Path(__file__).parent / "results"
LAST = 10**6  # epochs between evaluations: only after each stage


@dataclass(frozen=True)
class Study:
    """Runs of one task: the options that all have beside their settings, and the figures that the table shows."""

    task: str
    figures: tuple[str, ...]
    shared: Mapping[str, Any]
    said: str = ""  # how the shared options are written on the command line


def parser(description: str, name: str, settings: Iterable[str]) -> argparse.ArgumentParser:
    """What every such script can be asked for."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="*", default=None, help=f"among: {', '.join(settings)}")
    options.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--device", default="cpu")
    options.add_argument("--again", action="store_true")
    options.add_argument("--out", type=Path, default=RESULTS / f"{name}.json")
    return options


def perform(study: Study, given: argparse.Namespace, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """Run what is missing of ``wanted`` (key → settings; a key ends in `` | seed N``), then print the table."""
    record = _read(given.out)
    jobs = [
        (study, key, dict(settings) | {"device": given.device})
        for key, settings in wanted.items()
        if given.again or not {"commit", "recipe"} <= record["runs"].get(key, {}).keys()
    ]
    with multiprocessing.get_context("spawn").Pool(given.workers, maxtasksperchild=1) as pool:
        for key, result in pool.imap_unordered(run, jobs):
            record = _read(given.out)  # another process may have added runs meanwhile
            record["runs"][key] = result
            record["table"] = table(study, record["runs"])
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
            print(key, result["figures"], result["grounded"], result["seconds"], flush=True)
    for name, figures in table(study, record["runs"]).items():
        print(f"{name}: {figures}")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    return found


def run(job: tuple[Study, str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """One training run; the figures of its stages on the test set."""
    study, key, settings = job
    torch.set_num_threads(1)
    experiment = Experiment.named(study.task, evaluate_every=LAST, **study.shared, **settings)
    learner = experiment.learner()
    began = time.perf_counter()
    learner.fit(experiment.train, experiment.test)
    seconds = time.perf_counter() - began
    flags = " ".join(flag(name, value) for name, value in settings.items() if name != "device")
    return key, provenance() | {
        "command": " ".join(f"softground train {study.task} {study.said} {flags}".split()),
        "figures": list(learner.results_.values())[-1],
        "stages": learner.results_,
        "grounded": learner.grounded(experiment.train),
        "epochs": len(learner.history_),
        "acceptance": learner.history_[-1].get("acceptance"),
        "parameters": sum(p.numel() for p in experiment.network.parameters()),
        "seconds": round(seconds, 1),
        "recipe": experiment.recipe and experiment.recipe.to_json(),
    }


def flag(name: str, value: Any) -> str:
    """An option as it is written on the command line.

    >>> flag("train_size", 50), flag("augment", False)
    ('--train-size 50', '--no-augment')
    """
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {value}"


def table(study: Study, runs: Mapping[str, Any]) -> dict[str, Any]:
    """Mean and standard deviation over seeds, in per cent; the grounded training examples of each, where known."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, result in runs.items():
        groups[key.rsplit(" | ", 1)[0]].append(result)
    rows = {}
    for name, results in sorted(groups.items()):
        row: dict[str, Any] = {"seeds": len(results)}
        if all("grounded" in r for r in results):
            row["grounded"] = [r["grounded"] for r in results]
        for figure in study.figures:
            values = [100 * r["figures"][figure] for r in results]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            row[figure] = {"mean": round(statistics.mean(values), 2), "sd": round(spread, 2)}
        rows[name] = row
    return rows
