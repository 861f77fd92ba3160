"""The page in a few lines: the paper's own figure of each task, and what stands beside it here."""

from __future__ import annotations

from . import published
from .summary import Results
from .tables import decimal

# Of each task: its title, what is counted, the table, the metric, the paper's number, and what stands beside Exp.
Rows = tuple[tuple[str, str, str], ...]
BOARDS = 500
TASKS: tuple[tuple[str, str, str, str, Rows], ...] = (
    (
        "Formulas",
        "correct values",
        "hwf/standard",
        "calculation_accuracy",
        (
            ("SSL, treated alike", "ssl", "II"),
            ("NA, treated alike", "na", "II"),
            ("the exact kernel", "exact", "II"),
            ("with labels", "sup", "SUP"),
            ("`--preset best`", "best", "I"),
        ),
    ),
    (
        f"Sudoku, {BOARDS} boards",
        "valid boards",
        f"sudoku/{BOARDS}",
        "board_accuracy",
        (
            ("as in the authors' code", "exp-code", "II"),
            ("MCMC, treated alike", "mcmc", "II"),
            ("the exact kernel", "exact", "II"),
            ("with labels", "sup", "SUP"),
            ("`--preset best`", "best", "I"),
        ),
    ),
    (
        "Shortest paths, the authors' graphs",
        "paths found, of 30",
        "sdsp/recursive",
        "path_accuracy_all",
        (
            ("SSL, treated alike", "ssl", "II"),
            ("NA, treated alike", "na", "II"),
            ("without looking at the graph", "mean", "I"),
            ("with labels", "sup", "SUP"),
        ),
    ),
)
PAPER = {"hwf/standard": published.HWF["exp", "II"][1], f"sudoku/{BOARDS}": published.SUDOKU["exp", "II"][-1]}


def lines(results: Results) -> list[str]:
    """One line per task whose figure is on record, for exponential cooling after both stages."""
    found = []
    for title, counted, table, metric, rows in TASKS:
        own = results.test(f"{table}/exp", "II", metric)
        if own is None:
            continue
        beside = [
            f"{name} {figure}"
            for name, method, stage in rows
            if (figure := results.test(f"{table}/{method}", stage, metric)) is not None
        ]
        there = f"{decimal(PAPER[table])} in the paper" if table in PAPER else "no number in the paper"
        found.append(f"- **{title}**, {counted}: {own} ({there})" + "".join(f"; {each}" for each in beside) + ".")
    if not found:
        return []
    return [
        "The paper's method here (exponential cooling, both stages), test accuracy in %. *Treated alike*: the same "
        "walks, "
        "warm-up and Stage II.",
        "",
        *found,
    ]


__all__ = ["lines"]
