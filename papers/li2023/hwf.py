"""Tables 1 and 3 and the curves: handwritten formulas.

A cell that has two stages gives figures after each. So SSL and NA, which Table 1 shows after one stage, go on to the
second for Table 3; and Stage I + NGS is the exponential schedule followed by back-search.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .cell import Cell
from .choices import FORMULAS, chosen
from .settings import PAPER, STAGE_II, Setting

# The code published with NGS, which the paper used, gives RL and MAPO 200 epochs and back-search 100.
POLICY_EPOCHS = 200
# SUP gets as many epochs as both stages together.
SUP_EPOCHS = 140
# As in the authors' code, where SSL and NA walk once a gradient step, from the first one on, and the last network
# counts. Its energy is the mean over the seven sites, so that its γ is seven times as large for the paper's sum.
CODE_EPOCHS, SITES = 500, 7
CODE = PAPER | {
    "objective": "ssl",
    "steps": 1,
    "warmup": 0,
    "keep": "last",
    "learning_rate": 1e-3,
    "epochs": CODE_EPOCHS,
    "zero_epochs": STAGE_II,
}
# Eleven passes of warm-up, then 98 with nine walks to a gradient step.
CODE_WALKS: dict[str, Any] = {"floor": SITES * 0.01, "warmup": 11, "steps": 9, "epochs": 109}

SETTINGS = (
    Setting("exp", PAPER | {"schedule": "exp"}, 0, 60),
    Setting("log", PAPER | {"schedule": "log"}, 0, 60, curves=True),
    Setting("linear", PAPER | {"schedule": "linear"}, 0, 60, curves=True),
    Setting("ssl", PAPER | {"objective": "ssl", "zero_epochs": STAGE_II}, 1, 60, curves=True),
    Setting("na", PAPER | {"objective": "na", "zero_epochs": STAGE_II}, 1, 60, curves=True),
    # 500 passes each: not asked for unless --seeds does.
    Setting("ssl-code", CODE | {"gamma": SITES * 1.0}, 3, 300, seeds=0),
    Setting("na-code", CODE | {"gamma": SITES * 0.001}, 3, 300, seeds=0),
    Setting("exp-code", PAPER | {"schedule": "exp-code", "gamma": SITES * 1.0} | CODE_WALKS, 2, 60, seeds=1),
    Setting("ngs", PAPER | {"objective": "ngs"}, 1, 60, curves=True),
    Setting("mapo", PAPER | {"objective": "mapo", "epochs": POLICY_EPOCHS}, 1, 80, curves=True),
    Setting("rl", PAPER | {"objective": "reinforce", "epochs": POLICY_EPOCHS}, 1, 70),
    Setting("exp-ngs", PAPER | {"schedule": "exp", "zero_objective": "ngs"}, 1, 70),
    Setting("sup", PAPER | {"objective": "sup", "epochs": SUP_EPOCHS}, 2, 40),
    Setting("semantic", PAPER | {"objective": "semantic"} | chosen(FORMULAS), 2, 60),
    Setting("exact", PAPER | {"schedule": "exp", "kernel": "exact", "steps": 1}, 2, 60),
    Setting("best", {"preset": "best"}, 2, 60),
    Setting("best-sup", {"preset": "best", "objective": "sup"}, 2, 50),
    # What knowing the grammar is worth, and what the distortions are.
    Setting("exp-grammatical", PAPER | {"schedule": "exp", "readings": "grammatical"}, 2, 60, seeds=1),
    Setting("best-grammatical", {"preset": "best", "readings": "grammatical"}, 2, 60, seeds=2),
    Setting("best-plain", {"preset": "best", "augment": False}, 2, 60),
    # The hard groundings, problems (1) and (2), treated as SSL and NA are.
    Setting("hard-feasible", PAPER | {"objective": "hard-feasible", "zero_epochs": STAGE_II}, 1, 40, seeds=1),
    Setting("hard-best", PAPER | {"objective": "hard-best", "zero_epochs": STAGE_II}, 1, 50),
)
# On writers never seen: the paper's method and ours, each beside the same network with labels; how many seeds.
WRITERS = {"exp": 1, "sup": 1, "best": 2, "best-sup": 2}
QUICK: dict[str, Any] = {"length": 5, "train_size": 48, "test_size": 24, "image_size": 8, "batch_size": 16, "epochs": 2}


def cells(seed: int, data: str) -> list[Cell]:
    """Every formula cell of a seed; the writers' split exists for HWF alone."""
    shared = {"data": data}
    standard = [s.cell("hwf/standard", "hwf", seed, shared | _curves(s)) for s in SETTINGS]
    if data != "hwf":
        return standard
    kept = [replace(s, seeds=WRITERS[s.key]) for s in SETTINGS if s.key in WRITERS]
    return standard + [s.cell("hwf/writer", "hwf", seed, shared | {"split": "writer"} | _curves(None), 3) for s in kept]


def _curves(setting: Setting | None) -> dict[str, Any]:
    """Evaluate on the test set after every epoch where a curve is drawn, at the end of each stage elsewhere."""
    return {"evaluate_every": 1 if setting is not None and setting.curves else 1000}


__all__ = ["QUICK", "SETTINGS", "WRITERS", "cells"]
