"""The tables of long formulas and long sums, from their records in ``benchmarks/results``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from long_formulas import PARTS as FORMULAS
from long_sums import ROWS as SUMS

from softground.runs.provenance import origin


def formulas(page: Path) -> str:
    """Formulas, seed by seed."""
    rows = {name: options for part in FORMULAS.values() for name, options in part.items()}
    return table(page, rows, "hwf", {"symbol_accuracy": "symbols", "calculation_accuracy": "formulas"})


def sums(page: Path) -> str:
    """Sums, seed by seed."""
    return table(page, SUMS, "sums", {"symbol_accuracy": "digits", "sum_accuracy": "sums"})


def table(page: Path, rows: Mapping[str, str], task: str, figures: Mapping[str, str]) -> str:
    """What was measured of each row."""
    if not page.exists():
        return "Not measured yet."
    found = json.loads(page.read_text())
    heads = [f"`softground train {task} …`", *(f"{name}, %" for name in figures.values()), "seconds"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, options in rows.items():
        runs = [run for key, run in sorted(found["runs"].items()) if key.rsplit("/", 1)[0] == name]
        if runs:
            seconds = ", ".join(f"{run['wall_seconds']:.0f} ({run['jobs']})" for run in runs)
            lines.append(f"| `{options}` | {' | '.join(_each(runs, figure) for figure in figures)} | {seconds} |")
    runs = found["runs"].values()
    shared = "in brackets, how many runs of all kinds shared the machine meanwhile"
    made = f"Measured by `{found['command']}` {origin(runs)}."
    return "\n".join([*lines, "", f"On test data, every seed; {shared}. {made}"])


def _each(runs: list[dict[str, Any]], figure: str) -> str:
    return ", ".join(f"{100 * run[figure]:.2f}" for run in runs)
