"""The figure of shortest paths: every method that applies to reals, and SUP, on the authors' graphs and on ours."""

from __future__ import annotations

from typing import Any, cast

from softground.experiments import Experiment

from .cell import Cell
from .choices import PATHS, chosen
from .settings import PAPER, STAGE_II, Setting

POLICY_EPOCHS, SUP_EPOCHS = 100, 100  # as in the authors' code
CODE_EPOCHS = 11  # after which the authors' SSL and NA walk and learn no more
# SSL and NA as Stage I but for their temperature, and Stage II after them.
HELD: dict[str, Any] = PAPER | {"learning_rate": 1e-3, "zero_epochs": STAGE_II}
CODE: dict[str, Any] = PAPER | {"learning_rate": 1e-3, "warmup": 0, "steps": 1, "epochs": CODE_EPOCHS}
SUP = Setting("sup", PAPER | {"objective": "sup", "epochs": SUP_EPOCHS}, 1, 30)
SETTINGS = (
    Setting("exp", PAPER | {"schedule": "exp"}, 0, 90),
    Setting("log", PAPER | {"schedule": "log"}, 0, 90),
    Setting("linear", PAPER | {"schedule": "linear"}, 0, 90),
    Setting("ssl", HELD | {"objective": "ssl"}, 1, 90),
    Setting("na", HELD | {"objective": "na"}, 1, 90),
    Setting("ssl-code", CODE | {"objective": "ssl"}, 1, 20),
    Setting("na-code", CODE | {"objective": "na"}, 1, 20),
    Setting("mapo", PAPER | {"objective": "mapo", "epochs": POLICY_EPOCHS}, 1, 90),
    Setting("rl", PAPER | {"objective": "reinforce", "epochs": POLICY_EPOCHS}, 1, 90),
    SUP,
)
# The paper's network, relabelled, with the sampler that is exact for Q*.
GIBBS: dict[str, Any] = {"network": "mlp", "relabel": True, "kernel": "gibbs"}
UNIFORM = (
    Setting("exp", PAPER | {"schedule": "exp"}, 1, 90),
    Setting("ssl", HELD | {"objective": "ssl"}, 1, 90),
    SUP,
    Setting("gibbs", GIBBS | chosen(PATHS), 2, 100),
    Setting("best", {"preset": "best"}, 2, 60),
    Setting("best-sup", {"preset": "best", "objective": "sup"}, 2, 40),
)
QUICK: dict[str, Any] = {"nodes": 6, "train_size": 16, "test_size": 8, "epochs": 2}


def cells(seed: int) -> list[Cell]:
    """Every shortest-path cell of a seed."""
    made = []
    for trees, settings in (("recursive", SETTINGS), ("uniform", UNIFORM)):
        shared = {"evaluate_every": 10**6, "trees": trees}
        made += [setting.cell(f"sdsp/{trees}", "sdsp", seed, shared) for setting in settings]
        made.append(Cell(f"sdsp/{trees}/mean/{seed}", "mean", "sdsp", seed, PAPER | {"trees": trees}, 1, 10))
    return made


def mean_distances(experiment: Experiment) -> dict[str, Any]:
    """What each vertex's mean distance in training is worth for the test graphs, which are not looked at."""
    task, train, test = (cast(Any, part) for part in (experiment.task, experiment.train, experiment.test))
    guess = train.symbols.mean(0).expand(len(test), -1)
    return {"stages": {"I": {"test": task.figures(guess, task.constraint.encode(test.y), test.symbols)}}}


__all__ = [
    "CODE_EPOCHS",
    "GIBBS",
    "POLICY_EPOCHS",
    "QUICK",
    "SETTINGS",
    "SUP_EPOCHS",
    "UNIFORM",
    "cells",
    "mean_distances",
]
