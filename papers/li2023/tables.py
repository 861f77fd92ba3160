"""The paper's tables in Markdown, its figures beside ours."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Literal

from . import layout, published
from .layout import Row
from .sudoku import SIZES
from .summary import Figure, Results, reading

NONE = "–"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [f"| {' | '.join(header)} |", "| " + " | ".join("---" for _ in header) + " |"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def shown(figure: Figure | None) -> str:
    """A figure, or a dash where nothing was measured."""
    return NONE if figure is None else str(figure)


def formulas(results: Results, rows: Sequence[Row] = layout.HWF, writers: bool = True) -> list[str]:
    """Table 1 (and, with other rows, Table 3): symbol and calculation accuracy, those of formulas in brackets."""
    header = ["", "method", "symbol, paper", "symbol, ours", "calculation, paper", "calculation, ours"]
    header += ["symbol, writers", "calculation, writers"] * writers + ["seeds"]
    lines = []
    for row, group in zip(rows, _groups(rows), strict=True):
        paper = [decimal(value) for value in published.HWF.get(row.key, ())] or [NONE, NONE]
        families = [f"hwf/standard/{row.method}", *[f"hwf/writer/{row.method}"] * writers]
        ours, *elsewhere = (_both_readings(results, family, row.stage) for family in families)
        figures = [paper[0], ours[0], paper[1], ours[1], *itertools.chain(*elsewhere)]
        lines.append([group, row.label, *figures, results.seeds(families)])
    return markdown(header, lines)


def formula_figures(
    results: Results, family: str, stage: str, kind: Literal["all", "grammatical"] = "all"
) -> tuple[Figure | None, Figure | None]:
    """Symbol and calculation accuracy over all readings, as the paper measures them, or over grammatical ones."""
    symbol, calculation = (
        results.over(family, reading(stage, metric, kind)) for metric in ("symbol_accuracy", "calculation_accuracy")
    )
    return symbol, calculation


def _both_readings(results: Results, family: str, stage: str) -> list[str]:
    """``98.86 ± 0.17 [99.01 ± 0.12]`` of symbols, and of calculations."""
    plain, formula = (formula_figures(results, family, stage, kind) for kind in ("all", "grammatical"))
    return [
        NONE if one is other is None else f"{shown(one)} [{shown(other)}]"
        for one, other in zip(plain, formula, strict=True)
    ]


def boards(results: Results) -> list[str]:
    """Table 2: board accuracy per training size, grounded boards in brackets."""
    lines = []
    for row, group in zip(layout.SUDOKU, _groups(layout.SUDOKU), strict=True):
        cells = []
        for place, size in enumerate(SIZES):
            family = f"sudoku/{size}/{row.method}"
            number, known = published.SUDOKU.get(row.key), published.GROUNDED.get(row.key)
            paper = _bracket(decimal(number[place]) if number else NONE, str(known[place]) if known else NONE)
            ours = results.test(family, row.stage, "board_accuracy")
            cells += [paper, _bracket(shown(ours), _count(results.grounded(family, row.stage)))]
        lines.append([group, row.label, *cells, results.seeds(f"sudoku/{size}/{row.method}" for size in SIZES)])
    header = ["", "method"] + [f"{size}, {whose}" for size in SIZES for whose in ("paper", "ours")] + ["seeds"]
    return markdown(header, lines)


def paths(results: Results, trees: str) -> list[str]:
    """The SDSP figure as a table: the paper prints no numbers there."""
    lines = []
    rows = layout.SDSP[trees]
    for row, group in zip(rows, _groups(rows), strict=True):
        family = f"sdsp/{trees}/{row.method}"
        metrics = ("path_accuracy_all", "path_accuracy", "spearman")
        figures = [results.test(family, row.stage, metric) for metric in metrics]
        lines.append([group, row.label, *map(shown, figures), results.seeds([family])])
    return markdown(["", "method", "of all 30 paths", "of 29, without vertex 0", "Spearman", "seeds"], lines)


def _groups(rows: Sequence[Row]) -> list[str]:
    """Each group's name in its first row, and nothing in the others."""
    before = ["", *(row.group for row in rows)]
    return [row.group if row.group != group else "" for row, group in zip(rows, before, strict=False)]


def decimal(value: float) -> str:
    """A number as the paper prints it: one decimal, or two where it has them.

    >>> decimal(91.0), decimal(2.83)
    ('91.0', '2.83')
    """
    return f"{value:.1f}" if round(value, 1) == value else f"{value:g}"


def _count(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean:.0f}"


def _bracket(figure: str, count: str) -> str:
    return figure if figure == NONE or count == NONE else f"{figure} ({count})"


__all__ = ["NONE", "boards", "decimal", "formula_figures", "formulas", "markdown", "paths", "shown"]
