"""What the tests of the paper's cells share: records made up, and a worker that does nothing but answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papers.li2023.cell import Cell
from papers.li2023.plan import plan
from papers.li2023.store import Store

ENVIRONMENT = {"gpu": "GPU", "cpus": 2}


def record(cell: Cell, result: dict[str, Any]) -> dict[str, Any]:
    """A cell's record with a given result."""
    return {
        "name": cell.name,
        "kind": cell.kind,
        "options": dict(cell.options),
        "settings": cell.settings,
        "seed": cell.seed,
        "result": result,
        "seconds": 1.0,
        "wall_seconds": 36.0,
        "jobs": 2,
        "device": "cuda",
        "environment": ENVIRONMENT,
        "commit": "0123456789ab",
        "command": "python -m papers.li2023",
    }


def stages(**test: dict[str, float]) -> dict[str, Any]:
    """A training run's result with these figures on held-out data after each stage."""
    found = {
        name: {"test": figures, "train": {}, "grounded": 47, "examples": 50, "epochs": 2}
        for name, figures in test.items()
    }
    return {"stages": found, "annealing": {"moved": 0.8}, "note": ""}


def formula(symbol: float, calculation: float) -> dict[str, float]:
    """Figures of a formula run; of formulas alone they are a hundredth higher."""
    plain = {"symbol_accuracy": symbol, "calculation_accuracy": calculation}
    return plain | {f"grammatical_{name}": value + 0.01 for name, value in plain.items()}


def made_up(folder: Path) -> Store:
    """Two seeds of a few cells, with figures that are easy to recognise."""
    store = Store(folder)
    curve = {
        "stage": ["I", "I", "II"],
        "train_symbol_accuracy": [0.1, 0.2, 0.3],
        "feasible": [0.0, 0.1, 0.2],
        "test_symbol_accuracy": [0.2, 0.3, 0.4],
        "test_calculation_accuracy": [0.0, 0.1, 0.1],
        "gamma": [None, 1.0, 0.0],
    }
    rows = [
        {
            "kernel": kernel,
            "dropped": 2,
            "gamma": gamma,
            "steps": steps,
            "distance": gamma / steps,
            "worst": 1.0,
            "bias": 0.1,
        }
        for kernel in ("metropolis", "collapsed")
        for gamma in (1.0, 0.2, 0.02)
        for steps in (1, 10)
    ]
    results: dict[str, Any] = {
        "hwf/standard/exp": lambda s: stages(I=formula(0.96 + s / 100, 0.75), II=formula(0.98, 0.95)),
        "hwf/standard/ssl": lambda s: stages(I=formula(0.9, 0.4), II=formula(0.1, 0.0)) | {"curves": curve},
        "hwf/standard/semantic": lambda s: stages(I=formula(0.99, 0.97)),
        "hwf/jump": lambda s: {"moved": {"after_1": 0.25, "after_10": 0.75}},
        "sudoku/50/exp": lambda s: stages(I={"board_accuracy": 0.2}, II={"board_accuracy": 0.6 + s / 10}),
        "sudoku/50/sup": lambda s: stages(SUP={"board_accuracy": 0.64}),
        "sdsp/recursive/exp": lambda s: stages(
            I={"path_accuracy_all": 0.2}, II={"path_accuracy_all": 0.5, "spearman": 0.4}
        ),
        "sdsp/recursive/rl": lambda s: stages(I={"path_accuracy_all": 0.1}),
        "sdsp/recursive/sup": lambda s: stages(SUP={"path_accuracy_all": 0.6, "spearman": 0.5}),
        "sdsp/recursive/mean": lambda s: stages(I={"path_accuracy_all": 0.55}),
        "sdsp/z3": lambda s: {"inversions": {"one": {"milliseconds": 8.5}}},
        "proposition": lambda s: {"answer": "6", "states": 20, "rows": rows},
    }
    for cell in plan("all", 2):
        if cell.family in results:
            store.write(cell, record(cell, results[cell.family](cell.seed)))
    return store


# A worker that answers at once; which way is decided by the cell's options.
FAKE = """
import json, sys, time
cell = json.load(sys.stdin)["cell"]
say = cell["options"].get("say", "record")
time.sleep(cell["options"].get("sleep", 0))
if say == "die":
    sys.stderr.write("out of memory")
    sys.exit(9)
answer = {"record": {"name": cell["name"], "options": cell["options"], "result": {}, "environment": {"cpus": 1}}}
print(json.dumps(answer if say == "record" else {"error": say, "data": say.startswith("DataError")}))
"""
WORKER = (sys.executable, "-S", "-c", FAKE)


def cells(*names: str, **options: Any) -> list[Cell]:
    """Cells for the fake worker."""
    return [Cell(name, "law", "hwf", 0, options, seconds=1) for name in names]  # a kind that needs no recipe


def on_record(store: Store, wanted: Sequence[Cell]) -> list[str]:
    """Which of the cells are done."""
    return [cell.name for cell in wanted if store.finished(cell)]
