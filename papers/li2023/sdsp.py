"""The figure of shortest paths: every method that applies to reals, and SUP."""

from __future__ import annotations

from typing import Any

from .cell import Cell
from .settings import PAPER, Setting

SUP_EPOCHS = 140
SETTINGS = (
    Setting("exp", PAPER | {"schedule": "exp"}, 0, 200),
    Setting("log", PAPER | {"schedule": "log"}, 0, 200),
    Setting("linear", PAPER | {"schedule": "linear"}, 0, 200),
    Setting("ssl", PAPER | {"objective": "ssl"}, 1, 200),
    Setting("na", PAPER | {"objective": "na"}, 1, 200),
    Setting("mapo", PAPER | {"objective": "mapo"}, 1, 40),
    Setting("rl", PAPER | {"objective": "reinforce"}, 1, 30),
    Setting("sup", PAPER | {"objective": "sup", "epochs": SUP_EPOCHS}, 1, 30),
    # The paper's network, relabelled, with the sampler that is exact for Q*.
    Setting(
        "gibbs",
        {"network": "mlp", "relabel": True, "kernel": "gibbs", "sigma": 2.0, "margin": 2.0**-10, "epochs": 100},
        2,
        150,
    ),
    Setting("best", {"preset": "best"}, 2, 60),
    Setting("best-sup", {"preset": "best", "objective": "sup"}, 2, 40),
)
QUICK: dict[str, Any] = {"nodes": 6, "train_size": 16, "test_size": 8, "epochs": 2}


def cells(seed: int) -> list[Cell]:
    """Every shortest-path cell of a seed."""
    return [setting.cell("sdsp", "sdsp", seed, {"evaluate_every": 10**6}) for setting in SETTINGS]


__all__ = ["QUICK", "SETTINGS", "cells"]
