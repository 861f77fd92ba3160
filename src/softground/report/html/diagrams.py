"""Confusion matrices: one row per symbol, shaded by the share of the row, mistakes in a colour of their own.

Reliability diagrams: how often what is read with a confidence is right, in the ten bins of a calibration error.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..findings import Matrix
from ..words import is_number, percent, symbol, worded
from .charts import BOTTOM, LEFT, RIGHT, WIDTH, Frame, Scale

MOST_SYMBOLS = 32  # beyond this a cell is smaller than a finger and a letter
FIRST_ROW, MOST_LEFT, CHARACTER = 42, 96, 7
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
HEIGHT, TOP, FLOOR, LOWEST = 310, 66, 52, 16  # of the drawing; of both its parts, the upper one counts symbols
BINS = 10
HEADINGS = {"test": "Held-out data", "validation": "Validation part"}
COLUMNS = ("readings", "confidence", "accuracy")


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
        x, y = left + j * size, FIRST_ROW + i * size
        brief = f"{names[i]} → {names[j]}: {count:,} ({share:.1%})"
        cells.append((x, y, i == j, strength, words, brief, f"{100 * share:.0f}" if written else ""))
    across, down = max(1, int(size / CHARACTER)), int(left / CHARACTER)
    headings = [((i + 0.5) * size, name[:across], name[:down]) for i, name in enumerate(names)]
    wrong = sorted((-n, i, j) for i, j, n, _ in met if i != j)
    mistakes = [(-n, names[i], names[j]) for n, i, j in wrong]
    total, same = sum(n for _, _, n, _ in met), sum(n for i, j, n, _ in met if i == j)
    lede = f"{LEDES.get((matrix.rows, matrix.columns), '')} {same / max(1, total):.2%} of {total:,} symbols agree."
    others = sum(n for n, *_ in mistakes[MOST_NAMED:])
    return Confusion(matrix, lede, left, FIRST_ROW, size, headings, cells, mistakes[:MOST_NAMED], others)


class Bar(NamedTuple):
    """A bin in coordinates: its left edge and width, where accuracy and mean confidence are, how high its count is."""

    x: float
    width: float
    right: float
    sure: float
    many: float
    words: str
    brief: str


class Diagram(NamedTuple):
    """A drawing and its table."""

    heading: str
    lede: str
    frame: Frame
    floor: float  # of the counts
    bars: list[Bar]
    rows: list[list[str]]
    renamed: bool


def diagrams(summary: Mapping[str, object]) -> list[Diagram]:
    """One for each held-out data set of a run's summary."""
    found = summary.get("reliability")
    sets = found.items() if isinstance(found, dict) else []
    renamed = "relabelled_symbol_ece" in summary
    return [diagram(str(name), bins, renamed) for name, given in sets if (bins := _bins(given))]


def diagram(name: str, bins: list[tuple[int, float, float, float]], renamed: bool) -> Diagram:
    """Lay the bins out: (number, symbols, mean confidence, share that is right)."""
    x, y = Scale(0, 1, LEFT, WIDTH - RIGHT), Scale(0, 1, HEIGHT - BOTTOM, TOP)
    marks = [k / 5 for k in range(6)]
    rows, columns = ([(scale(v), percent(v)) for v in marks] for scale in (y, x))
    frame = Frame(WIDTH, HEIGHT, x, y, rows, columns, "confidence")
    total, most = (f([n for _, n, _, _ in bins]) for f in (sum, max))
    bars, table = [], []
    for k, n, sure, right in bins:
        edges = f"{10 * k} to {10 * k + 10}%"
        cells = [edges, f"{n:,.0f}", f"{sure:.1%}", f"{right:.1%}", f"{100 * (right - sure):+.1f}"]
        words = f"confidence {edges}: {cells[1]} symbols, mean confidence {cells[2]}, right {cells[3]}"
        table.append(cells)
        brief = f"{edges}: {cells[1]} symbols, {cells[3]} right"
        bars.append(Bar(x(k / BINS), x(0.1) - x(0), y(right), y(sure), (FLOOR - LOWEST) * n / most, words, brief))
    error = sum(n * abs(right - sure) for _, n, sure, right in bins) / total
    right = sum(n * right for _, n, _, right in bins) / total
    lede = f"ECE {error:.2%}; {right:.2%} of {total:,.0f} symbols are right."
    words = worded(name)
    return Diagram(HEADINGS.get(name, words[:1].upper() + words[1:]), lede, frame, FLOOR, bars, table, renamed)


def _bins(given: object) -> list[tuple[int, float, float, float]]:
    """The bins that are not empty; a file may hold anything."""
    columns = [given.get(name) for name in COLUMNS] if isinstance(given, dict) else [None]
    if not all(isinstance(column, list) and len(column) == BINS for column in columns):
        return []
    rows = [(k, *row) for k, row in enumerate(zip(*columns, strict=True))]
    return [row for row in rows if all(map(is_number, row)) and row[1] > 0 and all(0 <= v < 1.01 for v in row[2:])]
