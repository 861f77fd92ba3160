"""Settings that neither the paper nor its authors' code decides, and who decided.

A row of ours follows another row in all but what its name says (``FOLLOWS``: the row, and the settings that differ), or
its settings are one of ``CANDIDATES``: that of ``CHOSEN``. ``benchmarks/choose.py`` tries them on validation data, and
never on test data; ``benchmarks/results/choose.json`` has what came out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.provenance import read_page

PAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "choose.json"
OPTIMISERS: dict[str, dict[str, Any]] = {
    "SGD 0.1": {"optimizer": "sgd", "learning_rate": 0.1},
    "Adam 5e-4": {"optimizer": "adam", "learning_rate": 5e-4},
    "Adam 1e-3": {"optimizer": "adam", "learning_rate": 1e-3},
    "AdamW 5e-4": {"optimizer": "adamw", "learning_rate": 5e-4},
    "AdamW 1e-3": {"optimizer": "adamw", "learning_rate": 1e-3},
}
# The paper's network for shortest paths by the kernel that is exact for Q*. All differ from the first, which had been
# chosen by test figures, in what they are called.
GIBBS: dict[str, Any] = {"sigma": 2.0, "margin": 2.0**-10, "epochs": 100}
FORMULAS, BOARDS, PATHS = "hwf, semantic loss", "sudoku, semantic loss", "sdsp, gibbs"
CANDIDATES: dict[str, dict[str, dict[str, Any]]] = {
    FORMULAS: OPTIMISERS | {"SGD 0.1": {}},  # Stage I's, which is the preset's
    BOARDS: OPTIMISERS,
    PATHS: {
        "as it was": GIBBS,
        "sigma 1": GIBBS | {"sigma": 1.0},
        "sigma 4": GIBBS | {"sigma": 4.0},
        "margin 1": GIBBS | {"margin": 1.0},
        "learning rate 1e-3": GIBBS | {"learning_rate": 1e-3},
        "learning rate 1e-2": GIBBS | {"learning_rate": 1e-2},
    },
}
CHOSEN = {FORMULAS: "SGD 0.1", BOARDS: "Adam 1e-3", PATHS: "learning rate 1e-2"}
NO_STAGE_II = {"zero_epochs", "zero_weight_decay"}
FOLLOWS: dict[str, dict[str, tuple[str, set[str]]]] = {
    "hwf": {
        "exact": ("exp", {"kernel", "steps"}),
        "exp-ngs": ("exp", {"zero_objective"}),
        "exp-grammatical": ("exp", {"readings"}),
        "hard-feasible": ("exp", {"objective"}),
        "hard-best": ("exp", {"objective"}),
        "sup": ("exp", {"objective", "epochs"} | NO_STAGE_II),
        "best-sup": ("best", {"objective"}),
        "best-grammatical": ("best", {"readings"}),
        "best-plain": ("best", {"augment"}),
    },
    "sudoku": {
        "exact": ("exp", {"kernel", "steps", "marginals"}),
        "hard-feasible": ("exp", {"objective"} | NO_STAGE_II),
        "hard-best": ("exp", {"objective"} | NO_STAGE_II),
        "sup": ("exp", {"objective"} | NO_STAGE_II),
        "best-sup": ("best", {"objective"}),
        "best-lenet": ("best", {"network"}),
        "best-plain": ("best", {"augment"}),
    },
    "sdsp": {"best-sup": ("best", {"objective"})},
}


def chosen(name: str) -> dict[str, Any]:
    """The settings in use."""
    return CANDIDATES[name][CHOSEN[name]]


def tried(name: str, page: Path | None = None) -> dict[str, Any]:
    """What came out on validation data, once every candidate was tried; empty before."""
    page = page or PAGE
    found: dict[str, Any] = read_page(page)["groups"].get(name, {}) if page.exists() else {}
    return found if found and CANDIDATES[name].keys() <= found["candidates"].keys() else {}


def on_record(name: str, page: Path | None = None) -> bool:
    """Whether every candidate was tried on validation data, and the one in use came out best."""
    return tried(name, page).get("choice") == CHOSEN[name]


__all__ = ["BOARDS", "CANDIDATES", "CHOSEN", "FOLLOWS", "FORMULAS", "PATHS", "chosen", "on_record", "tried"]
