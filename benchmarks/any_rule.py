"""Rules of one's own, with no kernel named: the way to S_y is chosen by the library. Labels are measured beside.

    python benchmarks/any_rule.py [--seeds 3] [--jobs 2] [--only mixed grid few large killer instruments]

Every run is one of ``any_rule_cell.py``, which says what the rules and the data are. Runs on record in ``--out`` are
not repeated.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from cells import fill, parser, recorded

CELL = Path(__file__).resolve().parent / "any_rule_cell.py"
ROWS = {
    "mixed": {name: f"--rule {name}" for name in ("z3", "cpmpy", "own")} | {"labels": "--labels"},
    "grid": {"cpmpy": "--rule cpmpy", "parts": "--rule parts", "labels": "--labels"},
    "few": {name: f"--then {name}" for name in ("parts", "zero", "chains")},
    "large": {"cpmpy": "--rule cpmpy", "parts": "--rule parts", "labels": "--labels"},
    "killer": {"cpmpy": "--rule cpmpy", "labels": "--labels"},
    "instruments": {"total": "", "labels": "--labels"},
}
FIGURES = ("symbol_accuracy", "answer_accuracy")


def measure(name: str, task: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """One run's record; None where it failed or did not end in time."""
    return recorded(CELL, name, options, device, limit)


def main() -> None:
    """Run what is missing."""
    options = parser(str(__doc__), "any_rule")
    options.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--try", dest="more", default="", help="options for every run, such as '--epochs 1'")
    options.set_defaults(data_dir="")
    given = options.parse_args([*sys.argv[1:], "--data-dir", "embedded"])
    cells = {
        f"{problem}/{row}/{seed}": " ".join(filter(None, [problem, own, given.more, f"--seed {seed}"]))
        for problem in given.only
        for row, own in ROWS[problem].items()
        for seed in range(given.seeds)
    }
    fill(given, "", cells, FIGURES, "python benchmarks/any_rule.py", measure)


if __name__ == "__main__":
    main()
