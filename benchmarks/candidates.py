"""What ``choose.py`` tries: of each preset or row, a few settings beside the present ones.

A validation part lies beside the usual number of training examples where examples can be had in any number. Where they
are dealt from a pool of images, it shows images that training does not show.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for papers

from papers.li2023 import choices
from papers.li2023.sdsp import GIBBS
from softground.tasks import TASKS

LAST = {"evaluate_every": 10**6}  # evaluate after the last epoch only


@dataclass(frozen=True)
class Group:
    """Candidates for one preset or row: options that all share, the figure that decides, and how they differ."""

    task: str
    figure: str
    base: Mapping[str, Any]
    candidates: Mapping[str, Mapping[str, Any]]
    seconds: float = 60.0


def readings() -> dict[str, Any]:
    """Formulas are chosen for where the network has to learn the grammar too, if the task has that option."""
    known = {field.name for field in dataclasses.fields(TASKS["hwf"])}
    return {"readings": "all"} if "readings" in known else {}


BOARDS = {"data": "mnist", "train_size": 1000, "validation": 0.5} | LAST
PAIRS = {"preset": "best", "data": "mnist", "validation": 0.2} | LAST
PAIR_SETTINGS: dict[str, dict[str, Any]] = {
    "preset": {},
    "40 epochs": {"epochs": 40},
    "learning rate 5e-3": {"learning_rate": 5e-3},
}
SUM_SETTINGS: dict[str, dict[str, Any]] = {"undistorted": {"augment": False}, "distorted": {"augment": True}}
GROUPS = {
    "hwf": Group(
        "hwf",
        "validation_calculation_accuracy",
        {"preset": "best", "data": "hwf", "validation": 0.2} | readings() | LAST,
        {
            "preset": {},
            "learning rate 2e-3": {"learning_rate": 2e-3},
            "learning rate 1e-2": {"learning_rate": 1e-2},
            "batches of 64": {"batch_size": 64},
            "batches of 256": {"batch_size": 256},
            "60 epochs": {"epochs": 60},
            "undistorted": {"augment": False},
        },
        67,
    ),
    "sudoku": Group(
        "sudoku",
        "validation_board_accuracy",
        {"preset": "best"} | BOARDS,
        {
            "preset": {},
            "learning rate 1e-3": {"learning_rate": 1e-3},
            "learning rate 1e-2": {"learning_rate": 1e-2},
            "batches of 32": {"batch_size": 32},
            "60 epochs": {"epochs": 60},
            "convnet": {"network": "convnet"},
            "undistorted": {"augment": False},
        },
        40,
    ),
    "sudoku, 9x9": Group(
        "sudoku",
        "validation_board_accuracy",
        {"preset": "best", "data": "mnist", "size": 9, "train_size": 1500, "validation": 1 / 3, "test_size": 1} | LAST,
        {
            "preset": {},
            "undistorted": {"augment": False},
            "batches of 16": {"batch_size": 16},
            "learning rate 1e-3": {"learning_rate": 1e-3},
            "gamma 1": {"gamma": 1.0},
            "60 epochs": {"epochs": 60},
        },
        120,
    ),
    "hwf, several lengths": Group(
        "hwf",
        "validation_symbol_accuracy",
        {"preset": "best", "data": "hwf", "lengths": (1, 3, 5, 7), "shares": (1, 1, 2, 6), "validation": 0.2}
        | {"precision": "bf16-mixed", "image_size": 32}
        | LAST,
        {"32 pixels": {}, "45 pixels, 32 bits": {"image_size": 45, "precision": "32-true"}},
        60,
    ),
    "evenodd, ten labels": Group("evenodd", "validation_symbol_accuracy", {"anchors": 1} | PAIRS, PAIR_SETTINGS, 40),
    "evenodd, two labels": Group(
        "evenodd", "validation_symbol_accuracy", {"anchor_symbols": ("0", "1")} | PAIRS, PAIR_SETTINGS, 40
    ),
    "half": Group(
        "half", "validation_symbol_accuracy", PAIRS, {"preset": {}, "learning rate 5e-3": {"learning_rate": 5e-3}}, 20
    ),
    "kandlogic, three labels": Group(
        "kandlogic",
        "validation_symbol_accuracy",
        {"preset": "best", "anchor_symbols": ("red-square", "yellow-square", "red-circle"), "validation": 0.2} | LAST,
        {"10 epochs": {"epochs": 10}, "20 epochs": {"epochs": 20}},
        40,
    ),
    "validity, four labels": Group(
        "validity",
        "validation_symbol_accuracy",
        {"preset": "best", "data": "mnist", "anchors": 1, "validation": 0.2} | LAST,
        {"preset": {}, "learning rate 1e-3": {"learning_rate": 1e-3}},
        60,
    ),
    choices.BOARDS: Group(
        "sudoku",
        "validation_board_accuracy",
        {"preset": "paper", "objective": "semantic"} | BOARDS,
        choices.CANDIDATES[choices.BOARDS],
        20,
    ),
    choices.FORMULAS: Group(
        "hwf",
        "validation_calculation_accuracy",
        {"preset": "paper", "objective": "semantic", "data": "hwf", "validation": 0.2} | LAST,
        choices.CANDIDATES[choices.FORMULAS],
        100,
    ),
    choices.PATHS: Group(
        "sdsp",
        "validation_path_accuracy",
        {"preset": "best", "trees": "uniform", "train_size": 4000, "validation": 0.25} | GIBBS | LAST,
        choices.CANDIDATES[choices.PATHS],
        200,
    ),
    "sdsp": Group(
        "sdsp",
        "validation_path_accuracy",
        {"preset": "best", "train_size": 4000, "validation": 0.25} | LAST,
        {
            "preset": {},
            "learning rate 1e-3": {"learning_rate": 1e-3},
            "learning rate 1e-2": {"learning_rate": 1e-2},
            "batches of 128": {"batch_size": 128},
            "margin 0.5": {"margin": 0.5},
        },
        57,
    ),
    "sums, 100 digits": Group(
        "sums",
        "validation_symbol_accuracy",
        {"preset": "best", "digits": (100,), "repeat": True, "train_size": 2000, "validation": 0.2, "test_size": 1}
        | LAST,
        SUM_SETTINGS,
        60,
    ),
    "sums, 1,024 digits": Group(
        "sums",
        "validation_symbol_accuracy",
        {"preset": "best", "digits": (1024,), "repeat": True, "train_size": 2500, "validation": 0.2, "test_size": 1}
        | LAST,
        {
            f"{name}, {epochs} epochs": options | {"epochs": epochs}
            for epochs in (6, 12)
            for name, options in SUM_SETTINGS.items()
        },
        900,
    ),
    "addition": Group(
        "addition",
        "validation_sum_accuracy",
        {"preset": "best", "data": "mnist", "validation": 0.2} | LAST,
        {
            "preset": {},
            "learning rate 2e-3": {"learning_rate": 2e-3},
            "learning rate 1e-2": {"learning_rate": 1e-2},
            "LeNet-5": {"network": "lenet"},
        },
        62,
    ),
}
