"""Confusion matrices: one row per symbol, shaded by the share of the row, mistakes in a colour of their own."""

from collections.abc import Sequence
from typing import NamedTuple

from ..findings import Matrix
from ..numbers import symbol
from .lines import WIDTH

MOST_SYMBOLS = 32  # beyond this a cell is smaller than a finger and a letter
TOP, MOST_LEFT, CHARACTER = 42, 96, 7
NUMBERS_TO = 16  # symbols up to which shares are written into the cells
MOST_NAMED = 5
LEDES = {
    ("true", "predicted"): "What the network reads where the row's symbol stands.",
    (
        "grounded",
        "predicted",
    ): "Where the chain says the row's symbol, what the network reads. This one needs no label.",
    ("true", "grounded"): "What the chains say where the row's symbol stands.",
}


Cell = tuple[float, float, bool, float, str, str, str]  # x, y, on the diagonal, strength, words, in brief, percent


class Confusion(NamedTuple):
    """A matrix as squares of a ``size``, and its most frequent mistakes as (count, row, column)."""

    matrix: Matrix
    lede: str
    left: float
    top: float
    size: float
    headings: list[tuple[float, str, str]]  # middle from the start, name of the column and of the row as far as it fits
    cells: list[Cell]
    mistakes: list[tuple[int, str, str]]
    others: int


def confusion(matrix: Matrix, symbols: Sequence[str]) -> Confusion:
    """Lay a matrix out; without cells where it has too many symbols. An empty cell is not drawn."""
    names = [symbol(name) for name in symbols]
    left = min(MOST_LEFT, 20 + CHARACTER * max(map(len, names), default=0))
    size = min(44.0, (WIDTH - left) / max(1, len(names)))
    met = [(i, j, n, n / sum(row)) for i, row in enumerate(matrix.counts) for j, n in enumerate(row) if n]
    cells: list[Cell] = []
    for i, j, count, share in met if len(names) <= MOST_SYMBOLS else []:
        # The root lifts rare confusions above the threshold of the eye; on the diagonal nothing is rare.
        strength = share if i == j else max(0.12, share**0.5)
        words = f"{matrix.rows} {names[i]}, {matrix.columns} {names[j]}: {count:,} ({share:.1%} of the row)"
        written = len(names) <= NUMBERS_TO and share >= 0.0095
        x, y = left + j * size, TOP + i * size
        brief = f"{names[i]} → {names[j]}: {count:,} ({share:.1%})"
        cells.append((x, y, i == j, strength, words, brief, f"{100 * share:.0f}" if written else ""))
    across, down = max(1, int(size / CHARACTER)), int(left / CHARACTER)
    headings = [((i + 0.5) * size, name[:across], name[:down]) for i, name in enumerate(names)]
    wrong = sorted((-n, i, j) for i, j, n, _ in met if i != j)
    mistakes = [(-n, names[i], names[j]) for n, i, j in wrong]
    total, same = sum(n for _, _, n, _ in met), sum(n for i, j, n, _ in met if i == j)
    lede = f"{LEDES.get((matrix.rows, matrix.columns), '')} {same / max(1, total):.2%} of {total:,} symbols agree."
    others = sum(n for n, *_ in mistakes[MOST_NAMED:])
    return Confusion(matrix, lede, left, TOP, size, headings, cells, mistakes[:MOST_NAMED], others)
