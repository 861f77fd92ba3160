"""Table 2: visual Sudoku, four sizes of the training set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .cell import SEEDS, Cell
from .choices import BOARDS, chosen
from .settings import PAPER, Setting

SIZES = (50, 100, 300, 500)
# As in the authors' code, whatever the number of boards: 11 passes of warm-up, then 98 with nine walks to a gradient
# step; Stage I leaves the network with the most valid training boards, Stage II the last one. Its energy is the mean
# over the sites, so that its γ is sixteen times as large for the paper's sum. The test figures of every tenth epoch are
# kept, to say what the best of them would have been.
SITES = 16
DATA = PAPER | {"boards": "authors", "image_size": 32, "evaluate_every": 10}
CODE = DATA | {"steps": 9, "warmup": 11, "epochs": 109, "zero_batch_size": 32, "zero_weight_decay": 5e-4}
# SSL walks once a gradient step there, from the first one on.
SSL_CODE = DATA | {"objective": "ssl", "gamma": SITES * 1.0, "steps": 1, "warmup": 0, "epochs": 1000}
SETTINGS = (
    Setting("exp", PAPER | {"schedule": "exp"}, 0, 30),
    Setting("log", PAPER | {"schedule": "log"}, 0, 30),
    Setting("linear", PAPER | {"schedule": "linear"}, 0, 30),
    Setting("mcmc", PAPER | {"kernel": "mcmc", "schedule": "exp", "floor": SITES * 0.01}, 1, 25),
    Setting("ssl", PAPER | {"objective": "ssl"}, 1, 30),
    Setting("exp-code", CODE | {"schedule": "exp-code"}, 0, 25),
    Setting("log-code", CODE | {"schedule": "log-code"}, 0, 25),
    Setting("linear-code", CODE | {"schedule": "linear-code"}, 0, 25),
    Setting("mcmc-code", CODE | {"kernel": "mcmc", "schedule": "exp-code", "floor": SITES * 0.01}, 1, 20),
    Setting("ssl-code", SSL_CODE | {"learning_rate": 1e-3}, 1, 60),
    Setting("mapo", PAPER | {"objective": "mapo"}, 1, 15),
    Setting("rl", PAPER | {"objective": "reinforce"}, 1, 10),
    Setting("sup", PAPER | {"objective": "sup"}, 2, 10),
    Setting("semantic", PAPER | {"objective": "semantic"} | chosen(BOARDS), 2, 15),
    Setting("exact", PAPER | {"schedule": "exp", "kernel": "exact", "steps": 1, "marginals": True}, 2, 20),
    Setting("best", {"preset": "best"}, 2, 40),
    Setting("best-sup", {"preset": "best", "objective": "sup"}, 2, 30),
    Setting("best-lenet", {"preset": "best", "network": "lenet"}, 2, 40),
    Setting("best-plain", {"preset": "best", "augment": False}, 2, 30),
    # The hard groundings, problems (1) and (2).
    Setting("hard-feasible", PAPER | {"objective": "hard-feasible"}, 1, 15),
    Setting("hard-best", PAPER | {"objective": "hard-best"}, 1, 15),
)
# Rows of which the smallest and the largest training set say enough, and rows of which the largest does.
ENDS = (
    "rl",
    "mapo",
    "exact",
    "best-sup",
    "best-lenet",
    "best-plain",
    "log-code",
    "linear-code",
    "mcmc-code",
    "ssl-code",
)
LARGEST = ("hard-feasible", "hard-best")
# Rows whose seeds part ways: MCMC, and those with two neighbours among three seeds 25 points or more apart, after one
# stage or two, here or in 0.2.
APART = {("mcmc", 50), ("mcmc", 100), ("log", 50), ("log", 100), ("log", 300), ("ssl", 300), ("exact", 50)}
APART |= {("log-code", 50), ("linear-code", 50), ("mcmc-code", 50), ("exp-code", 100)}
MANY_SEEDS = 10
QUICK: dict[str, Any] = {"train_size": 16, "test_size": 16, "epochs": 2}


def cells(seed: int, data: str) -> list[Cell]:
    """Every Sudoku cell of a seed."""
    return [
        replace(setting, seeds=MANY_SEEDS if (setting.key, size) in APART else SEEDS).cell(
            f"sudoku/{size}", "sudoku", seed, {"data": data, "train_size": size, "evaluate_every": 10**6}
        )
        for size in reversed(SIZES)
        for setting in SETTINGS
        if size == SIZES[-1] or setting.key not in (*LARGEST, *(ENDS if size != SIZES[0] else ()))
    ]


__all__ = ["QUICK", "SETTINGS", "SIZES", "cells"]
