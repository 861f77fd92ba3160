"""Table 2: visual Sudoku, four sizes of the training set."""

from __future__ import annotations

from typing import Any

from .cell import Cell
from .settings import PAPER, Setting

SIZES = (50, 100, 300, 500)
# As in the authors' code: one walk a gradient step, from the first one on. Its energy is the mean over the sites, so
# that its γ is sixteen times as large for the paper's sum.
SITES = 16
CODE = PAPER | {
    "objective": "ssl",
    "gamma": SITES * 1.0,
    "steps": 1,
    "warmup": 0,
    "learning_rate": 1e-3,
    "epochs": 1000,
}
SETTINGS = (
    Setting("exp", PAPER | {"schedule": "exp"}, 0, 30),
    Setting("log", PAPER | {"schedule": "log"}, 0, 30),
    Setting("linear", PAPER | {"schedule": "linear"}, 0, 30),
    Setting("mcmc", PAPER | {"kernel": "mcmc", "schedule": "exp", "floor": SITES * 0.01}, 1, 25),
    Setting("ssl", PAPER | {"objective": "ssl"}, 1, 30),
    Setting("ssl-code", CODE, 1, 60),
    Setting("mapo", PAPER | {"objective": "mapo"}, 1, 15),
    Setting("rl", PAPER | {"objective": "reinforce"}, 1, 10),
    Setting("sup", PAPER | {"objective": "sup"}, 2, 10),
    # By AdamW, which suits it better here than SGD 0.1: no baseline should be weaker than it need be.
    Setting("semantic", PAPER | {"objective": "semantic", "optimizer": "adamw", "learning_rate": 5e-4}, 2, 15),
    Setting("exact", PAPER | {"schedule": "exp", "kernel": "exact", "steps": 1, "marginals": True}, 2, 20),
    Setting("best", {"preset": "best"}, 2, 40),
    Setting("best-plain", {"preset": "best", "augment": False}, 2, 30),
    # The hard groundings, problems (1) and (2).
    Setting("hard-feasible", PAPER | {"objective": "hard-feasible"}, 1, 15),
    Setting("hard-best", PAPER | {"objective": "hard-best"}, 1, 15),
)
LARGEST_ONLY = ("best-plain", "hard-feasible", "hard-best")
QUICK: dict[str, Any] = {"train_size": 16, "test_size": 16, "epochs": 2}


def cells(seed: int, data: str) -> list[Cell]:
    """Every Sudoku cell of a seed."""
    return [
        setting.cell(f"sudoku/{size}", "sudoku", seed, {"data": data, "train_size": size, "evaluate_every": 10**6})
        for size in reversed(SIZES)
        for setting in SETTINGS
        if size == SIZES[-1] or setting.key not in LARGEST_ONLY
    ]


__all__ = ["QUICK", "SETTINGS", "SIZES", "cells"]
