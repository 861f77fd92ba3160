"""Sudoku's part of the page: Table 2, rows seed by seed, and the table of runs as in the authors' code."""

from __future__ import annotations

from . import layout, published
from .audit import MCMC, PORT
from .epochs import BEST, LAST, epoch_figure
from .sudoku import APART, SIZES
from .summary import Results, share
from .tables import NONE, decimal, markdown, shown

CAPTION = (
    "Share of 1,000 test boards whose prediction is valid, in %, mean ± sd over seeds; in brackets the training boards "
    "whose prediction is valid. `--preset best` trains on images distorted at random; a row without that is beside it."
)
SEEDS = (
    "Seed by seed, where seeds lie far apart (a standard deviation of ten points or more) or ten were run for that "
    "reason. A run finds the digits or does not, or stops where SGD has just swung: a mean says little of these rows, "
    "and an interval that takes their spread to be normal is only a guide:"
)
CODE = (
    "**As in the authors' code**: its boards (48 of the 288), 32×32 pixels, its temperatures, 109 gradient passes "
    "(with few boards these are few steps), Stage II in batches of 32 with weight decay 5e-4. *kept*: the network that "
    "the code keeps, after Stage I that with the most valid training boards, after Stage II the last one. *best "
    "epoch*: the highest test accuracy of every tenth epoch, which the network kept after Stage I, of any epoch, can "
    "exceed. It is chosen on test data, so it is no result of ours: whoever reports the best line that the scripts "
    "print, one an epoch, reports at least that."
)


def lines(results: Results) -> list[str]:
    """Rows seed by seed, and runs as in the authors' code."""
    apart = seed_by_seed(results)
    return [*([SEEDS, "", *apart, "", MCMC, ""] if apart else []), CODE, "", *as_in_the_code(results), "", PORT]


def seed_by_seed(results: Results, apart: float = 10.0) -> list[str]:
    """The rows of Table 2 of which a mean says little, every seed."""
    found = []
    for row in layout.SUDOKU:
        for size in SIZES:
            family = f"sudoku/{size}/{row.method}"
            figure = results.test(family, row.stage, "board_accuracy")
            if figure is not None and (figure.sd >= apart or (row.method, size) in APART):
                found.append(f"- {layout.name(row)}, {size} boards: {figure}, of {_each(results, family, row.stage)}.")
    return found


def as_in_the_code(results: Results) -> list[str]:
    """Kept network, last epoch and best epoch of every run as in the authors' code."""
    header = ["method", "boards", "paper", "kept", "last epoch", "best epoch", "kept, seed by seed"]
    rows = []
    for row in layout.SUDOKU_CODE:
        for place, size in enumerate(SIZES):
            family, number = f"sudoku/{size}/{row.method}", published.SUDOKU.get(row.key)
            figures = [
                results.test(family, row.stage, "board_accuracy"),
                *(epoch_figure(results, family, row.stage, which) for which in (LAST, BEST)),
            ]
            paper = decimal(number[place]) if number else NONE
            each = _each(results, family, row.stage)
            if any(figures):
                rows.append([row.label, str(size), paper, *map(shown, figures), each])
    return markdown(header, rows) if rows else ["Not measured yet."]


def _each(results: Results, family: str, stage: str) -> str:
    return ", ".join(f"{value:.1f}" for value in results.each(family, share(stage, "board_accuracy")))


__all__ = ["CAPTION", "as_in_the_code", "lines", "seed_by_seed"]
