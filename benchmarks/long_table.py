"""The table of long formulas, from ``benchmarks/results/long_formulas.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from long_formulas import PARTS

from softground.runs.provenance import origin


def table(page: Path) -> str:
    """What was measured of each row, seed by seed."""
    if not page.exists():
        return "Not measured yet."
    found = json.loads(page.read_text())
    lines = ["| `softground train hwf …` | symbols, % | formulas, % | seconds |", "| --- | --- | --- | --- |"]
    for name, options in ((name, options) for part in PARTS.values() for name, options in part.items()):
        runs = [run for key, run in sorted(found["runs"].items()) if key.rsplit("/", 1)[0] == name]
        if runs:
            cells = [_each(runs, "symbol_accuracy"), _each(runs, "calculation_accuracy")]
            seconds = ", ".join(f"{run['wall_seconds']:.0f} ({run['jobs']})" for run in runs)
            lines.append(f"| `{options}` | {' | '.join(cells)} | {seconds} |")
    runs = found["runs"].values()
    shared = "in brackets, how many runs of all kinds shared the GPU meanwhile"
    made = f"Measured by `{found['command']}` {origin(runs)}."
    return "\n".join([*lines, "", f"On test data, every seed; {shared}. {made}"])


def _each(runs: list[dict[str, Any]], figure: str) -> str:
    return ", ".join(f"{100 * run[figure]:.2f}" for run in runs)
