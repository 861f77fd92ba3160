"""The tables of long formulas and long sums, from their records in ``benchmarks/results``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from long_formulas import PARTS as FORMULAS
from long_sums import ROWS as SUMS
from provenance import origin, read_page


def formulas(page: Path) -> str:
    """Formulas, seed by seed."""
    rows = FORMULAS["default"] | FORMULAS["images"]
    return table(page, rows, "hwf", {"symbol_accuracy": "symbols", "calculation_accuracy": "formulas"})


def ingredients(page: Path) -> str:
    """Formulas with one ingredient less, seed by seed."""
    figures = {"validation_calculation_accuracy": "formulas held out", "calculation_accuracy": "test formulas"}
    figures["symbol_accuracy"] = "test symbols"
    return table(page, FORMULAS["ingredients"], "hwf", figures, named=True)


def sums(page: Path) -> str:
    """Sums, seed by seed."""
    return table(page, SUMS, "sums", {"symbol_accuracy": "digits", "sum_accuracy": "sums"})


def table(page: Path, rows: Mapping[str, str], task: str, figures: Mapping[str, str], named: bool = False) -> str:
    """What was measured of each row; where rows are ``named``, with their names and epochs."""
    if not page.exists():
        return "Not measured yet."
    found = read_page(page)
    heads = [f"`softground train {task} …`", *(f"{name}, %" for name in figures.values()), "seconds"]
    heads = ["", *heads[:-1], "epochs", "seconds"] if named else heads
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, options in rows.items():
        runs = [run for key, run in sorted(found["runs"].items()) if key.rsplit("/", 1)[0] == name]
        if runs:
            seconds = ", ".join(f"{run['wall_seconds']:.0f} ({run['jobs']})" for run in runs)
            cells = [f"`{options}`", *(_each(runs, figure) for figure in figures), seconds]
            cells = [name, *cells[:-1], ", ".join(str(run["epochs"]) for run in runs), seconds] if named else cells
            lines.append(f"| {' | '.join(cells)} |")
    runs = [run for key, run in found["runs"].items() if key.rsplit("/", 1)[0] in rows]
    shared = "in brackets, how many runs of all kinds shared the machine meanwhile"
    made = f"Measured by `{found['command']}` {origin(runs)}."
    return "\n".join([*lines, "", f"{'E' if named else 'On test data, e'}very seed; {shared}. {made}"])


def _each(runs: list[dict[str, Any]], figure: str) -> str:
    return ", ".join(f"{100 * run[figure]:.2f}" for run in runs)
