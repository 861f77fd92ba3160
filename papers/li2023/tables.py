"""The paper's tables in Markdown, its figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from . import layout, published
from .epochs import LAST, epoch_figure
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


def formulas(results: Results, rows: Sequence[Row] = layout.HWF) -> list[str]:
    """Table 1 (and, with other rows, Table 3): symbol and calculation accuracy, and that of the last epoch."""
    header = ["", "method", "symbol, paper", "symbol", "calculation, paper", "calculation", "last epoch", "seeds"]
    lines = []
    for row in rows:
        paper = [decimal(value) for value in published.HWF.get(row.key, ())] or [NONE, NONE]
        family = f"hwf/standard/{row.method}"
        if _left_out(results, row, [family]):
            continue
        ours = [shown(figure) for figure in formula_figures(results, family, row.stage)]
        last = shown(epoch_figure(results, family, row.stage, LAST))
        figures = [paper[0], ours[0], paper[1], ours[1], last]
        lines.append([row.group, row.label, *figures, results.seeds([family])])
    return markdown(header, _once(lines))


def writers(results: Results) -> list[str]:
    """The split whose test images come from writers not seen in training, beside the published one."""
    header = ["method", "symbol", "calculation", "grammatical calculation", "seeds"]
    lines = []
    for row in layout.HWF:
        family = f"hwf/writer/{row.method}"
        if family in results.families:
            figures = [
                *formula_figures(results, family, row.stage),
                formula_figures(results, family, row.stage, "grammatical")[1],
            ]
            lines.append([layout.name(row), *map(shown, figures), results.seeds([family])])
    return markdown(header, lines) if lines else ["Not measured yet."]


def _left_out(results: Results, row: Row, families: Sequence[str]) -> bool:
    """Whether a row that is not in the paper has no record, and so nothing to show."""
    ours = row.group == layout.CODE or (row.key not in published.HWF and row.key not in published.SUDOKU)
    return ours and not any(family in results.families for family in families)


def formula_figures(
    results: Results, family: str, stage: str, kind: Literal["all", "grammatical"] = "all"
) -> tuple[Figure | None, Figure | None]:
    """Symbol and calculation accuracy over all readings, as the paper measures them, or over grammatical ones."""
    symbol, calculation = (
        results.over(family, reading(stage, metric, kind)) for metric in ("symbol_accuracy", "calculation_accuracy")
    )
    return symbol, calculation


def boards(results: Results) -> list[str]:
    """Table 2: board accuracy per training size, grounded boards in brackets."""
    lines = []
    for row in layout.SUDOKU:
        families = [f"sudoku/{size}/{row.method}" for size in SIZES]
        if _left_out(results, row, families):
            continue
        cells = []
        for place, family in enumerate(families):
            number, known = published.SUDOKU.get(row.key), published.GROUNDED.get(row.key)
            paper = _bracket(decimal(number[place]) if number else NONE, str(known[place]) if known else NONE)
            ours = results.test(family, row.stage, "board_accuracy")
            cells += [paper, _bracket(shown(ours), _count(results.grounded(family, row.stage)))]
        lines.append([row.group, row.label, *cells, results.seeds(families)])
    header = ["", "method"] + [f"{size}, {whose}" for size in SIZES for whose in ("paper", "ours")] + ["seeds"]
    return markdown(header, _once(lines))


def paths(results: Results, trees: str) -> list[str]:
    """The SDSP figure as a table: the paper prints no numbers there."""
    lines = []
    for row in layout.SDSP[trees]:
        family = f"sdsp/{trees}/{row.method}"
        metrics = ("path_accuracy_all", "path_accuracy", "spearman")
        figures = [results.test(family, row.stage, metric) for metric in metrics]
        lines.append([row.group, row.label, *map(shown, figures), results.seeds([family])])
    return markdown(["", "method", "of all 30 paths", "of 29, without vertex 0", "Spearman", "seeds"], _once(lines))


def _once(lines: Sequence[list[str]]) -> list[list[str]]:
    """Each group's name in its first row, and nothing in the others."""
    before = ["", *(line[0] for line in lines)]
    return [["" if line[0] == group else line[0], *line[1:]] for line, group in zip(lines, before, strict=False)]


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


__all__ = ["NONE", "boards", "decimal", "formula_figures", "formulas", "markdown", "paths", "shown", "writers"]
