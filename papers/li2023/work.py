"""Run one cell in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from softground.experiments import Experiment
from softground.learner import Learner, Stage
from softground.runs import environment
from softground.runs.folder import plain

from .baselines import BackSearch
from .cell import Cell, Where
from .claims import jump, z3_times
from .descent import descent
from .epochs import evaluated
from .proposition import laws
from .sdsp import mean_distances
from .sharpening import sharpening

CURVES = ("gamma", "feasible", "train_symbol_accuracy", "test_symbol_accuracy", "test_calculation_accuracy")
DECIMALS = 5
LAWS: dict[str, Callable[..., dict[str, Any]]] = {"proposition": laws, "descent": descent, "sharpening": sharpening}


def run(cell: Cell, where: Where) -> dict[str, Any]:
    """The cell's record: what it was, what came out, how long it took, on what."""
    began = time.perf_counter()
    match cell.kind:
        case "train":
            result, device = train(cell, where)
        case "choice":
            result, device = choice(cell, where)
        case "jump":
            result, device = jump(experiment_of(cell, where))
        case "z3":
            result, device = z3_times(cell.task, int(cell.options["queries"]), cell.seed), "cpu"
        case "mean":
            result, device = mean_distances(experiment_of(cell, where)), "cpu"
        case "law":
            result, device = LAWS[cell.family](**cell.options, seed=cell.seed), "cpu"
    return {
        "name": cell.name,
        "kind": cell.kind,
        "options": dict(cell.options),
        "settings": cell.settings,
        "seed": cell.seed,
        "result": rounded(plain(result)),
        "seconds": round(time.perf_counter() - began, 1),
        "device": device,
        "environment": environment(),
    }


def experiment_of(cell: Cell, where: Where) -> Experiment:
    """The experiment that ``softground train`` would have run; for Stage I + NGS with back-search in Stage II."""
    given = cell.given | {"seed": cell.seed, "device": where.device}
    second = given.pop("zero_objective", "zero")
    if given.get("data", "digits") != "digits":
        given["data_dir"] = None if where.data_dir is None else Path(where.data_dir)
    experiment = Experiment.named(cell.task, **given)
    if second == "ngs":
        *first, last = cast(list[Stage], experiment.stages)
        return replace(experiment, stages=[*first, replace(last, objective=BackSearch())])
    return experiment


def train(cell: Cell, where: Where) -> tuple[dict[str, Any], str]:
    """A training run: figures after every stage and, where a figure needs them, of every epoch."""
    experiment = experiment_of(cell, where)
    learner = experiment.learner()
    stages = _Stages(learner, experiment)
    learner.fit(experiment.train, experiment.test, observer=stages, anchors=experiment.anchors)
    result = {
        "stages": stages.found,
        "annealing": _first_cooled(learner.history_),
        "training_seconds": learner.seconds_,
        "parameters": sum(p.numel() for p in experiment.network.parameters()),
        "note": experiment.note,
        "evaluated": evaluated(learner.history_),
    }
    if cell.curves:
        result["curves"] = {name: [r.get(name) for r in learner.history_] for name in ("stage", *CURVES)}
    return result, learner.fabric.device.type


def choice(cell: Cell, where: Where) -> tuple[dict[str, Any], str]:
    """A training run judged by its validation part; the test data are put away before it begins."""
    experiment = replace(experiment_of(cell, where), test=None)
    learner = experiment.learner()
    learner.fit(experiment.train, None, experiment.validation, anchors=experiment.anchors)
    result = {
        "validation": list(learner.results_.values())[-1],
        "examples": {"train": len(experiment.train), "validation": len(experiment.validation or ())},  # type: ignore[arg-type]
        "training_seconds": learner.seconds_,
        "note": experiment.note,
    }
    return result, learner.fabric.device.type


class _Stages:
    """An observer that takes down what the network is worth at the end of each stage."""

    def __init__(self, learner: Learner, experiment: Experiment) -> None:
        self.learner, self.experiment = learner, experiment
        self.found: dict[str, Any] = {}

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        if event == "stage":
            train = self.experiment.train
            epochs = next(s.epochs for s in self.learner.stages if s.name == facts["stage"])
            self.found[facts["stage"]] = {
                "test": facts["result"],
                "train": self.learner.evaluate(train),
                "grounded": self.learner.grounded(train),
                "examples": len(train),  # type: ignore[arg-type]
                "epochs": epochs,
            }


def _first_cooled(history: list[dict[str, Any]]) -> dict[str, Any]:
    """How the chains moved in the first epoch with a finite γ."""
    for record in history:
        if record.get("gamma") is not None and "moved" in record:
            return {name: record[name] for name in ("epoch", "gamma", "moved", "acceptance")}
    return {}


def rounded(value: Any) -> Any:
    """Numbers to five decimals, so that records stay small."""
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


__all__ = ["run"]
