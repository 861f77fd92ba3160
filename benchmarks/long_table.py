"""The tables of long formulas and long sums, from their records in ``benchmarks/results``."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from long_formulas import PARTS as FORMULAS
from provenance import machine, read_page

ADDED = {
    "mnist": "MNIST, the preset",
    "mnist, larger network": "MNIST, larger network, distorted images",
    "digits": "scikit-learn's digits, 2,400 rows",
    "digits, no prior": "the same without the usage prior",
}
LONG = {
    "digits 11": "11 symbols, scikit-learn's digits",
    "digits 15": "15 symbols, the same digits",
    "digits 25": "25 symbols, the same",
    "digits 35": "35 symbols, the same",
    "hwf 15": "15 symbols, images of HWF, reconstructed from CROHME strokes",
    "hwf 15, labels": "the same with labels",
}


def formulas(page: Path) -> str:
    """Formulas by length."""
    rows = {name: LONG[name] for name in (FORMULAS["default"] | FORMULAS["images"])}
    return table(page, rows, {"symbol_accuracy": "symbols", "calculation_accuracy": "values"}, "setting")


def ingredients(page: Path) -> str:
    """Formulas with one ingredient changed."""
    rows = {name: name.replace("as it is", "all ingredients") for name in FORMULAS["ingredients"]}
    figures = {"validation_calculation_accuracy": "validation values", "calculation_accuracy": "test values"}
    return table(page, rows, figures, "symbols, change")


def sums(page: Path) -> str:
    """Sums of 1,024 digits."""
    return table(page, ADDED, {"symbol_accuracy": "digits", "sum_accuracy": "sums"}, "setting")


def table(page: Path, rows: Mapping[str, str], figures: Mapping[str, str], head: str) -> str:
    """Mean and spread of each row that was measured."""
    if not page.exists():
        return "Not measured yet."
    found = read_page(page)
    lines = [f"| {' | '.join([head, *(f'{name}, %' for name in figures.values()), 'seeds', 'minutes'])} |"]
    lines.append("| --- " * (len(figures) + 3) + "|")
    for name, shown in rows.items():
        runs = [run for key, run in sorted(found["runs"].items()) if key.rsplit("/", 1)[0] == name]
        if runs:
            minutes = f"{statistics.median(run['wall_seconds'] for run in runs) / 60:.1f}"
            minutes += "" if runs[0]["environment"]["gpu"] else f" on {machine(runs[0])}"
            cells = [*(_mean(runs, figure) for figure in figures), str(len(runs)), minutes]
            lines.append(f"| {shown} | {' | '.join(cells)} |")
    note = f"Test data unless noted; median minutes on a shared H200. Measured by `{found['command']}`."
    return "\n".join([*lines, "", note])


def _mean(runs: list[dict[str, Any]], figure: str) -> str:
    values = [100 * run[figure] for run in runs]
    return f"{statistics.mean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(runs) > 1 else "")
