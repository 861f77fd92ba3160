"""The table a run ends with."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from .html.numbers import is_number


def result_table(title: str, columns: dict[str, dict[str, Any]]) -> Table:
    """Figures side by side: one column per moment (before, after Stage I, …), one row per metric, in percent."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column("on held-out data")
    for moment in columns:
        table.add_column(moment, justify="right")
    for metric in dict.fromkeys(m for figures in columns.values() for m in figures):
        cells = [f"{value:.2%}" if is_number(value := figures.get(metric)) else "–" for figures in columns.values()]
        table.add_row(metric.replace("_", " "), *cells)
    return table
